// Adds to emulation.h what kernels with warps and clusters need. A block is a thread of the host, whose thread-local
// statics are its shared memory; a thread of the block is a fiber, so that hundreds of them can meet at every
// shuffle. The blocks of a cluster run at the same time.
#pragma once
#include "emulation.h"

#include <mutex>

#undef __shared__
#define __shared__ static thread_local
#define emulated(kernel, grid, block) on_fibers(kernel, grid, block, 1)
#define cudaLaunchKernelEx launched_with_attributes
#define cudaGetDevice(device) (*(device) = 0, cudaSuccess)
#define cudaDeviceGetAttribute(value, name, device) (*(value) = 9, cudaSuccess)

struct Cluster {
    explicit Cluster(unsigned size) : size(size), anchors(size), ended(size), sent(size) {}
    unsigned size;
    Door door, end;
    std::vector<char*> anchors;
    std::vector<std::atomic<bool>> ended;
    std::mutex mutex;
    std::vector<std::function<void()>> writes;  // to be seen once all have arrived, and no sooner
    std::vector<std::vector<std::function<void()>>> sent;  // to each block
    void settle() {
        for (const auto& write : writes) write();
        writes.clear();
    }
};

static thread_local unsigned* met_in_cluster;  // by thread
static thread_local double exchanged[LANES_A_WARP * LANES_A_WARP];
static thread_local Cluster* cluster;
static thread_local char anchor;  // thread-local statics lie at the same distance from it in every thread
static std::function<void()> fiber_body;

template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask) {
    static_assert(sizeof(T) <= sizeof(double), "does not fit");
    std::memcpy(exchanged + threadIdx.x, &value, sizeof(T));
    __syncwarp();
    std::memcpy(&value, exchanged + (threadIdx.x ^ mask), sizeof(T));
    __syncwarp();
    return value;
}

template <typename T>
T __shfl_sync(unsigned, T value, int from, int width = LANES_A_WARP) {
    static_assert(sizeof(T) <= sizeof(double), "does not fit");
    std::memcpy(exchanged + threadIdx.x, &value, sizeof(T));
    __syncwarp();
    std::memcpy(&value, exchanged + (threadIdx.x / width * width + from), sizeof(T));
    __syncwarp();
    return value;
}

inline int rank_in_cluster() { return blockIdx.x % cluster->size; }
inline void arrive_in_cluster() {
    cluster->door.arrive(cluster->size * blockDim.x, [] { cluster->settle(); });
}
inline void await_cluster() {
    while (cluster->door.opened == met_in_cluster[threadIdx.x]) let_others_run();
    ++met_in_cluster[threadIdx.x];
}

// A barrier of the cluster with release and acquire or without is the same one here.
inline void arrive_without_fence() { arrive_in_cluster(); }

// Where `here` is in another block; null where a real one would break: it may not have started, or has ended.
template <typename T>
T* place_in(int rank, T* here) {
    if (met_in_cluster[threadIdx.x] == 0 || cluster->ended[rank]) return nullptr;
    return reinterpret_cast<T*>(cluster->anchors[rank] + (reinterpret_cast<char*>(here) - &anchor));
}

// What a real one would break on spoils this block instead.
template <typename T>
void write_to(int rank, T* here, T value) {
    T* const there = place_in(rank, here);
    if (!there) {
        std::memset(static_cast<void*>(here), 0xff, sizeof(T));
        return;
    }
    const std::lock_guard<std::mutex> lock(cluster->mutex);
    cluster->writes.push_back([=] { *there = value; });
}

// Bytes that are still to come. Nothing of them is seen before all are there.
struct Arrivals {
    unsigned bytes;
};
inline void expect_bytes(Arrivals& arrivals, unsigned bytes) { arrivals.bytes = bytes; }
template <typename T>
void send_to(int rank, T* here, T value, Arrivals& arrivals) {
    Arrivals* const its = place_in(rank, &arrivals);
    if (!its) {
        arrivals.bytes = 0;
        std::memset(static_cast<void*>(here), 0xff, sizeof(T));
        return;
    }
    const std::lock_guard<std::mutex> lock(cluster->mutex);
    std::vector<std::function<void()>>& sent = cluster->sent[rank];
    sent.push_back([=, there = place_in(rank, here)] { *there = value; });
    its->bytes -= sizeof(T);
    if (its->bytes) return;
    for (const auto& write : sent) write();
    sent.clear();
}
inline void await_bytes(const Arrivals& arrivals) {
    const auto left = [&] {
        const std::lock_guard<std::mutex> lock(cluster->mutex);
        return arrivals.bytes;
    };
    while (left()) let_others_run();
}

inline void run_block(Cluster* mine, uint3 block) {
    cluster = mine;
    blockIdx = block;
    mine->anchors[rank_in_cluster()] = &anchor;
    std::vector<unsigned> met(blockDim.x);
    met_in_cluster = met.data();
    run_fibers(blockDim.x, be_thread, fiber_body);
    mine->ended[rank_in_cluster()] = true;
    mine->end.arrive(mine->size);
    while (mine->end.opened == 0) std::this_thread::yield();  // its memory may still be written to
}

template <typename... A>
auto on_fibers(void (*kernel)(A...), dim3 grid, dim3 block, unsigned cluster_size) {
    return [=](A... arguments) {
        gridDim = grid;
        blockDim = block;
        fiber_body = [=] { kernel(arguments...); };
        for (unsigned x = 0; x < grid.x; x += cluster_size) {
            Cluster one(cluster_size);
            std::vector<std::thread> blocks;
            for (unsigned i = 0; i < cluster_size; ++i) blocks.emplace_back(run_block, &one, uint3{x + i, 0, 0});
            for (std::thread& thread : blocks) thread.join();
        }
    };
}

template <typename... A, typename... B>
cudaError_t launched_with_attributes(const cudaLaunchConfig_t* config, void (*kernel)(A...), B... arguments) {
    const unsigned size = config->numAttrs ? config->attrs->val.clusterDim.x : 1;
    if (config->gridDim.x % size) return cudaErrorInvalidConfiguration;
    on_fibers(kernel, config->gridDim, config->blockDim, size)(arguments...);
    return cudaSuccess;
}
