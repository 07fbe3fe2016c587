// A warp a window, everything in registers: a lane takes every 32nd sample and keeps a sum for each channel and each
// pair of channels. Sums are of differences to the window's first sample, so that a large offset does not cancel.
#pragma once
#include "lane_sums.cuh"

template <int C>
__device__ inline void window_in_registers(const float* __restrict__ x, float* __restrict__ mean,
                                           float* __restrict__ cov, long long samples) {
    constexpr int PAIRS = C * (C + 1) / 2;  // in the order (0, 0), (1, 0), (1, 1), (2, 0) ...
    __shared__ float totals[PAIRS + C], room[ROOM];
    const long long window = blockIdx.x;
    const float* rows = x + window * C * samples;
    float origin[C], sums[PAIRS + C] = {};  // pairs, then channels
#pragma unroll
    for (int i = 0; i < C; ++i) origin[i] = rows[i * samples];
#pragma unroll 1
    for (long long t = threadIdx.x; t < samples; t += WARP) {
        float value[C];
#pragma unroll
        for (int i = 0; i < C; ++i) value[i] = rows[i * samples + t] - origin[i];
#pragma unroll
        for (int i = 0; i < C; ++i) {
            sums[PAIRS + i] += value[i];
#pragma unroll
            for (int j = 0; j <= i; ++j) sums[i * (i + 1) / 2 + j] += value[i] * value[j];
        }
    }
    add_up(sums, totals, room);
    __syncwarp();
    if (threadIdx.x < C) {
        const int i = threadIdx.x;
        mean[window * C + i] = rows[i * samples] + totals[PAIRS + i] / samples;
    }
    for (int k = threadIdx.x; k < C * C; k += WARP) {
        const int i = k / C > k % C ? k / C : k % C, j = k / C + k % C - i;
        const float both = totals[PAIRS + i] * (totals[PAIRS + j] / samples);
        cov[window * C * C + k] = (totals[i * (i + 1) / 2 + j] - both) / (samples - 1);
    }
}
