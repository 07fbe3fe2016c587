// What softmax has to know of a row, or of a part of one: its maximum, and the sum of exp(value - maximum). Parts
// merge, so that one pass over a row suffices.
#pragma once
#include <cmath>
#include <cuda_runtime.h>

constexpr int WARP = 32;
constexpr unsigned ALL_LANES = 0xffffffff;
constexpr float LOG2_E = 1.44269504088896340736f;

struct Statistics {
    float max, sum;
};

constexpr Statistics NOTHING = {-INFINITY, 0.0f};

// A part of nothing but -inf has no maximum that could be subtracted: -inf - -inf is no number. From 0, its terms are
// 0.
__device__ inline float origin_of(float max) { return max == -INFINITY ? 0.0f : max; }

// exp(value - origin). The difference comes first, though an FMA with log2(e) would save an instruction: value *
// log2(e) overflows from 2.4e38 on, and origin * log2(e), rounded, is off by 2^-24 of itself, not of the difference.
__device__ inline float power(float value, float origin) { return exp2f((value - origin) * LOG2_E); }

// A NaN is no maximum but makes the sum one, and so does +inf: inf - inf is NaN. Every element of the row is NaN
// then, as torch has it.
__device__ inline Statistics merged(Statistics a, Statistics b) {
    const float max = fmaxf(a.max, b.max), origin = origin_of(max);
    return {max, a.sum * power(a.max, origin) + b.sum * power(b.max, origin)};
}

// Over groups of LANES neighbouring lanes; every lane gets the result, the same to the last bit.
template <int LANES = WARP>
__device__ inline Statistics over_lanes(Statistics part) {
    float max = part.max;
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2) max = fmaxf(max, __shfl_xor_sync(ALL_LANES, max, step));
    float sum = part.sum * power(part.max, origin_of(max));
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, step);
    return {max, sum};
}

// Over the block's warps, a power of two of them. `parts` is shared memory, one a warp, used once a kernel: nobody
// waits until it has been read.
template <int WARPS>
__device__ inline Statistics over_block(Statistics part, Statistics* parts) {
    const Statistics of_warp = over_lanes(part);
    if (threadIdx.x % WARP == 0) parts[threadIdx.x / WARP] = of_warp;
    __syncthreads();
    return over_lanes<WARPS>(parts[threadIdx.x % WARPS]);
}
