// Blocks that stay: each takes the next place when it has done with one, from a counter in global memory.
#pragma once
#include <atomic>

#include "ahead.cuh"

constexpr int COUNTERS = 64;  // launches that may be under way at the same time
__device__ unsigned counters[COUNTERS];  // each is 0 when its launch ends: it has counted all places, and wraps

// Two places, filled by the producer, so that it may go ahead.
template <class Base>
struct Queued : Base {
    static constexpr int PLACES = 2, BYTES = Base::BYTES + PLACES * (2 * sizeof(Barrier) + sizeof(unsigned));

    __device__ Ring<PLACES, 0> ring() const { return {nullptr, Base::barriers() + Base::BARRIERS}; }
    __device__ unsigned* place(const Turn& turn) const {
        return reinterpret_cast<unsigned*>(ring().barriers + 2 * PLACES) + turn.stage;
    }
    __device__ void make() const {
        ring().make(Base::GROUPS * GROUP_THREADS / WARP);
        Base::make();
    }
    // By one thread.
    __device__ void put(unsigned next, Turn& turn) const {
        await(ring().empty(turn.stage), turn.parity ^ 1);
        *place(turn) = next;
        arrive(ring().full(turn.stage));
        ring().advance(turn);
    }
    __device__ unsigned take(Turn& turn) const {
        ring().await_full(turn);
        const unsigned next = *place(turn);
        __syncwarp();
        ring().release(turn);
        return next;
    }
};

template <class T>
__global__ void __launch_bounds__(T::THREADS, 1)
    attend_queue(const __grid_constant__ Operands operands, const __grid_constant__ Attention a, const Grid grid,
                 float factor, unsigned* counter) {
    const T tiles = {reinterpret_cast<bf16*>(shared_memory())};
    const int group = own_group();
    const unsigned places = static_cast<unsigned>(grid.tiles) * grid.heads;
    if (threadIdx.x == 0) tiles.make();
    __syncthreads();
    Progress progress;
    Turn turn;
    if (group == T::GROUPS) {
        keep_registers<T::OF_PRODUCER>();
        if (threadIdx.x % GROUP_THREADS == 0) {
            unsigned next = blockIdx.x;
            while (next < places) {
                tiles.put(next, turn);
                const Place place = place_of(grid, static_cast<int>(next));
                next = gridDim.x + atomicInc(counter, places - 1);  // it comes while tiles do
                produce(tiles, operands, a, place, progress);
            }
            tiles.put(places, turn);
        }
    } else {
        take_registers<T::OF_CONSUMER>();
        begin_turns<T>(group);
        for (unsigned next; (next = tiles.take(turn)) < places;) {
            const Place place = place_of(grid, static_cast<int>(next));
            consume<true, true, SCALED_ABOVE>(tiles, a, place, group, progress, factor);
        }
    }
}

// Of the current device: its SMs, and a counter that no other launch under way has.
inline cudaError_t prepare(int* sms, unsigned** counter) {
    static std::atomic<unsigned> launches;
    int device = 0;
    void* start = nullptr;
    cudaError_t status = cudaGetDevice(&device);
    if (status == cudaSuccess) status = cudaDeviceGetAttribute(sms, cudaDevAttrMultiProcessorCount, device);
    if (status == cudaSuccess) status = cudaGetSymbolAddress(&start, counters);
    *counter = static_cast<unsigned*>(start) + launches++ % COUNTERS;
    return status;
}

template <class T>
cudaError_t launch_queue(const Attention& a, long long heads, long long section, cudaStream_t stream) {
    int sms = 0;
    unsigned* counter = nullptr;
    const cudaError_t status = prepare(&sms, &counter);
    if (status != cudaSuccess) return status;
    return launch<T>(attend_queue<T>, a, heads, section, sms, stream, counter);
}
