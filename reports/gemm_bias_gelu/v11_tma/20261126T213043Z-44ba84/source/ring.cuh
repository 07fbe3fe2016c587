// Stages of shared memory, a tile of both operands each, that TMA fills and products empty.
#pragma once
#include "tma.cuh"

// The stage whose turn it is, and of which parity its barriers' opening is.
struct Turn {
    int stage = 0;
    unsigned parity = 0;
};

template <int TILE_M, int TILE_N, int STAGES>
struct Ring {
    static constexpr int ELEMENTS = (TILE_M + TILE_N) * DEPTH;
    static constexpr unsigned STAGE_BYTES = ELEMENTS * sizeof(bf16);
    static constexpr int BYTES = STAGES * STAGE_BYTES, BARRIER_BYTES = 2 * STAGES * sizeof(Barrier);
    bf16* memory;
    Barrier* barriers;

    __device__ bf16* x_tile(int stage) const { return memory + stage * ELEMENTS; }
    __device__ bf16* weight_tile(int stage) const { return x_tile(stage) + TILE_M * DEPTH; }
    __device__ Barrier* full(int stage) const { return barriers + stage; }
    __device__ Barrier* empty(int stage) const { return barriers + STAGES + stage; }

    // By one thread, before a barrier of all. `releases`: arrivals that empty a stage.
    __device__ void make(int releases) const {
        for (int stage = 0; stage < STAGES; ++stage) {
            make_barrier(full(stage), 1);
            make_barrier(empty(stage), releases);
        }
        show_barriers();
    }
    // By one thread.
    __device__ void fetch(const Operands& operands, int stage, int row, int col, int k0) const {
        arrive_expecting(full(stage), STAGE_BYTES);
        fetch_box(x_tile(stage), operands.x, row, k0, full(stage));
        fetch_box(weight_tile(stage), operands.weight, col, k0, full(stage));
    }
    __device__ void release(int stage) const {
        if (threadIdx.x % WARP == 0) arrive(empty(stage));
    }
    __device__ static void advance(Turn& turn) {
        turn.stage = turn.stage + 1 == STAGES ? 0 : turn.stage + 1;
        turn.parity ^= turn.stage == 0;
    }
};
