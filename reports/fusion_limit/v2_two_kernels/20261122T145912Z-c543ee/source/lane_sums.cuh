// What the versions share: sums that every lane of a warp has a part of.
#pragma once
#include <climits>
#include <cuda_runtime.h>

constexpr int WARP = 32;
constexpr int ROOM = WARP * (WARP + 1);  // floats of shared memory that a warp needs to add up; a column of padding

// totals[k] = the sum of mine[k] over the lanes of a warp. Lane k adds row k: 2 accesses and one addition a sum.
template <int N>
__device__ inline void add_up(const float (&mine)[N], float* totals, float* room) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int start = 0; start < N; start += WARP) {
#pragma unroll
        for (int k = 0; k < WARP; ++k) {
            if (start + k < N) room[k * (WARP + 1) + lane] = mine[start + k];
        }
        __syncwarp();
        if (start + lane < N) {
            float sum = 0.0f;
#pragma unroll
            for (int k = 0; k < WARP; ++k) sum += room[lane * (WARP + 1) + k];
            totals[start + lane] = sum;
        }
        __syncwarp();
    }
}
