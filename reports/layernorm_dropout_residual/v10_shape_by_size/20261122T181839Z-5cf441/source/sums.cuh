// Sums over a block of THREADS threads; every thread gets the result. `room` is shared memory that is used once.
#pragma once
#include <cuda_runtime.h>

constexpr int THREADS = 256, WARP = 32;
constexpr int WARPS = THREADS / WARP;
constexpr unsigned ALL_LANES = 0xffffffff;

// Half of the threads add, then a quarter, and so on: nine barriers.
struct Tree {
    static constexpr int ROOM = THREADS;
    static __device__ float over_block(float mine, float* room) {
        room[threadIdx.x] = mine;
        __syncthreads();
#pragma unroll
        for (int half = THREADS / 2; half > 0; half /= 2) {
            if (threadIdx.x < half) room[threadIdx.x] += room[threadIdx.x + half];
            __syncthreads();
        }
        return room[0];
    }
};

template <int LANES = WARP>
__device__ inline float over_lanes(float mine) {
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2) mine += __shfl_xor_sync(ALL_LANES, mine, step);
    return mine;
}

// Lanes exchange registers; only what is left of each warp goes through shared memory: one barrier.
struct Shuffles {
    static constexpr int ROOM = WARPS;
    static __device__ float over_block(float mine, float* room) {
        mine = over_lanes(mine);
        if (threadIdx.x % WARP == 0) room[threadIdx.x / WARP] = mine;
        __syncthreads();
        return over_lanes<WARPS>(room[threadIdx.x % WARPS]);
    }
};
