// Stages of shared memory that a thread fills with tiles of keys and of values, each by itself, and that warp groups
// empty: nobody waits for all.
#pragma once
#include "online.cuh"

// The stage whose turn it is, and of which parity its barriers' opening is.
struct Turn {
    int stage = 0;
    unsigned parity = 0;
};

// Stages of one tensor: where they lie, their barriers. Each is released by every warp that reads it.
template <int STAGES, int TILE>
struct Ring {
    bf16* memory;
    Barrier* barriers;

    __device__ bf16* tile(const Turn& turn) const { return memory + turn.stage * TILE; }
    __device__ Barrier* full(int stage) const { return barriers + stage; }
    __device__ Barrier* empty(int stage) const { return barriers + STAGES + stage; }
    __device__ void make(int releases) const {
        for (int stage = 0; stage < STAGES; ++stage) {
            make_barrier(full(stage), 1);
            make_barrier(empty(stage), releases);
        }
    }
    // By one thread.
    __device__ void fill(const CUtensorMap& matrix, int head, int row, Turn& turn) const {
        await(empty(turn.stage), turn.parity ^ 1);
        arrive_expecting(full(turn.stage), TILE * ELEMENT);
        fetch_rows(tile(turn), matrix, head, row, full(turn.stage));
        advance(turn);
    }
    __device__ void await_full(const Turn& turn) const { await(full(turn.stage), turn.parity); }
    __device__ void release(Turn& turn) const {
        if (threadIdx.x % WARP == 0) arrive(empty(turn.stage));
        advance(turn);
    }
    __device__ static void advance(Turn& turn) {
        turn.stage = turn.stage + 1 == STAGES ? 0 : turn.stage + 1;
        turn.parity ^= turn.stage == 0;
    }
};
