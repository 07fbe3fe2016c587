// A thread that keeps stages full, warp groups that empty them: what both have to do for the queries of one block, a
// place. Tiles of keys are taken from the last to the first, so that those that are masked come first.
#pragma once
#include "ring.cuh"

// Registers of a thread, of the whole warp group at once. What the one kind gives away the other may take.
template <int REGISTERS>
__device__ inline void keep_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
template <int REGISTERS>
__device__ inline void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

// GROUPS warp groups of 64 queries each, and one group that fills stages with KEYS keys and as many values.
template <int DIM_, int GROUPS_>
struct Tiles {
    static constexpr int DIM = DIM_, GROUPS = GROUPS_, KEYS = 128, STAGES = 2;
    static constexpr int ROWS = GROUPS * GROUP_ROWS, THREADS = (GROUPS + 1) * GROUP_THREADS;
    static constexpr int WIDE = KEYS / 8, COLUMNS = DIM / 8;
    // Of 65,536 for all.
    static constexpr int OF_PRODUCER = GROUPS == 2 ? 24 : 32, OF_CONSUMER = GROUPS == 2 ? 240 : 160;
    static constexpr int QUERIES = GROUP_ROWS * DIM, TILE = KEYS * DIM;  // elements
    static constexpr int ELEMENTS = GROUPS * QUERIES + 2 * STAGES * TILE, BARRIERS = 2 + 4 * STAGES;
    static constexpr int BYTES = ELEMENTS * ELEMENT + BARRIERS * static_cast<int>(sizeof(Barrier));
    bf16* memory;

    __device__ bf16* queries(int group) const { return memory + group * QUERIES; }
    __device__ Barrier* barriers() const { return reinterpret_cast<Barrier*>(memory + ELEMENTS); }
    __device__ Barrier* queries_full() const { return barriers(); }
    __device__ Barrier* queries_empty() const { return barriers() + 1; }
    __device__ Ring<STAGES, TILE> keys() const { return {queries(GROUPS), barriers() + 2}; }
    __device__ Ring<STAGES, TILE> values() const {
        return {queries(GROUPS) + STAGES * TILE, barriers() + 2 + 2 * STAGES};
    }
    // By one thread, before a barrier of all.
    __device__ void make() const {
        constexpr int WARPS = GROUPS * GROUP_THREADS / WARP;
        make_barrier(queries_full(), 1);
        make_barrier(queries_empty(), WARPS);
        keys().make(WARPS);
        values().make(WARPS);
        show_barriers();
    }
    // Tiles of keys that some query of the block sees.
    __device__ static int count(const Attention& a, Place place) {
        const int seen = a.seen_by_any(place.tile * ROWS, ROWS);
        return seen > 0 ? (seen - 1) / KEYS + 1 : 0;
    }
};

// How far a role has come: it goes on with the next place where it was.
struct Progress {
    Turn keys, values;
    unsigned queries = 0;
};

// By one thread. Values are needed a tile later than keys.
template <class T>
__device__ inline void produce(const T& tiles, const Operands& operands, const Attention& a, Place place,
                               Progress& progress) {
    const int count = T::count(a, place);
    if (count == 0) return;
    const auto fill_keys = [&](int tile) {
        tiles.keys().fill(operands.k, place.head, tile * T::KEYS, progress.keys);
    };
    fill_keys(count - 1);
    await(tiles.queries_empty(), progress.queries ^ 1);
    progress.queries ^= 1;
    arrive_expecting(tiles.queries_full(), T::GROUPS * T::QUERIES * ELEMENT);
    for (int group = 0; group < T::GROUPS; ++group) {
        const int row = place.tile * T::ROWS + group * GROUP_ROWS;
        fetch_rows(tiles.queries(group), operands.q, place.head, row, tiles.queries_full());
    }
    for (int tile = count - 1; tile >= 0; --tile) {
        if (tile > 0) fill_keys(tile - 1);
        tiles.values().fill(operands.v, place.head, tile * T::KEYS, progress.values);
    }
}

// By a warp group, when it has no more products with these queries to ask for.
template <class T>
__device__ inline void release_queries(const T& tiles) {
    if (threadIdx.x % WARP == 0) arrive(tiles.queries_empty());
}

// One place a block. `consume` is what a warp group does with it.
template <class T, class Consume>
__device__ inline void attend_once(const Operands& operands, const Attention& a, const Grid& grid, Consume consume) {
    const T tiles = {reinterpret_cast<bf16*>(shared_memory())};
    const Place place = place_of(grid, static_cast<int>(blockIdx.x));
    const int group = own_group();
    if (threadIdx.x == 0) tiles.make();
    __syncthreads();
    Progress progress;
    if (group == T::GROUPS) {
        keep_registers<T::OF_PRODUCER>();
        if (threadIdx.x % GROUP_THREADS == 0) produce(tiles, operands, a, place, progress);
    } else {
        take_registers<T::OF_CONSUMER>();
        consume(tiles, place, group, progress);
    }
}
