// A warp has 16 queries, its lane 4 g + t of them rows g and g + 8: scores, powers and results stay in the registers
// that mma.sync left them in. Powers of two tiles of eight keys are the operand of the next product as they lie.
#pragma once
#include "calling.cuh"
#include "mma.cuh"

constexpr int KEYS = 64;       // of a tile
constexpr int ROWS_A_MMA = 16;
constexpr int K_A_MMA = 16;    // what one mma.sync sums over
constexpr int COLS_A_MMA = 8;

using Scores = float[KEYS / COLS_A_MMA][4];
template <int DIM>
using Result = float[DIM / COLS_A_MMA][4];
template <int DIM>
using Queries = unsigned[DIM / K_A_MMA][4];

// Of a lane's two rows: the largest score, and the sum of the powers that this lane has.
struct Statistics {
    float max[2] = {-INFINITY, -INFINITY}, sum[2] = {};
};

__device__ inline int group() { return threadIdx.x % WARP / 4; }
__device__ inline int of_group() { return threadIdx.x % 4; }

// One instruction on a GPU. exp2f is four, for results below 2^-126, which are as good as zero here.
__device__ inline float power_of_two(float x) {
#ifdef __CUDA_ARCH__
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return exp2f(x);
#endif
}

__device__ inline unsigned packed(float low, float high) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const unsigned*>(&pair);
}

// Rows of q from `first` on, as the first operand; zeros behind the last query.
template <int DIM>
__device__ inline void load_queries(Queries<DIM>& queries, const bf16* q, int first, int count) {
#pragma unroll
    for (int k = 0; k < DIM / K_A_MMA; ++k) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int row = first + group() + i % 2 * 8, col = k * K_A_MMA + i / 2 * 8 + 2 * of_group();
            const bf16* place = q + row * static_cast<long long>(DIM) + col;
            queries[k][i] = row < count ? *reinterpret_cast<const unsigned*>(place) : 0;
        }
    }
}

// Leaves out what this lane's two rows do not see of the keys from `key` on.
__device__ inline void mask(Scores& scores, const Attention& a, int row, int key) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int seen = a.seen_by(row + group() + 8 * half) - key - 2 * of_group();
#pragma unroll
        for (int n = 0; n < KEYS / COLS_A_MMA; ++n) {
            if (n * COLS_A_MMA >= seen) scores[n][2 * half] = -INFINITY;
            if (n * COLS_A_MMA + 1 >= seen) scores[n][2 * half + 1] = -INFINITY;
        }
    }
}

__device__ inline float largest_of_row(float mine) {
    mine = fmaxf(mine, __shfl_xor_sync(ALL_LANES, mine, 1));
    return fmaxf(mine, __shfl_xor_sync(ALL_LANES, mine, 2));
}

// Makes powers of scores, and scales down what was summed before where a maximum has risen.
template <int DIM>
__device__ inline void raise(Scores& scores, Result<DIM>& result, Statistics& rows, float factor) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        float max = rows.max[half];
#pragma unroll
        for (int n = 0; n < KEYS / COLS_A_MMA; ++n) {
            max = fmaxf(max, fmaxf(scores[n][2 * half], scores[n][2 * half + 1]));
        }
        max = largest_of_row(max);
        const float origin = max == -INFINITY ? 0.0f : max * factor;  // -inf - -inf is no number
        const float before = power_of_two(rows.max[half] * factor - origin);
        rows.max[half] = max;
        float sum = rows.sum[half] * before;
#pragma unroll
        for (int n = 0; n < KEYS / COLS_A_MMA; ++n) {
#pragma unroll
            for (int i = 2 * half; i < 2 * half + 2; ++i) {
                scores[n][i] = power_of_two(fmaf(scores[n][i], factor, -origin));
                sum += scores[n][i];
            }
        }
        rows.sum[half] = sum;
#pragma unroll
        for (int n = 0; n < DIM / COLS_A_MMA; ++n) {
            result[n][2 * half] *= before;
            result[n][2 * half + 1] *= before;
        }
    }
}

// Powers of 16 keys as the first operand of a product.
__device__ inline void pack(unsigned (&powers)[4], const Scores& scores, int step) {
    const float (&left)[4] = scores[2 * step], (&right)[4] = scores[2 * step + 1];
    powers[0] = packed(left[0], left[1]);
    powers[1] = packed(left[2], left[3]);
    powers[2] = packed(right[0], right[1]);
    powers[3] = packed(right[2], right[3]);
}

template <int DIM>
__device__ inline void write(bf16* out, const Result<DIM>& result, const Statistics& rows, int first, int count) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        float sum = rows.sum[half];
        sum += __shfl_xor_sync(ALL_LANES, sum, 1);
        sum += __shfl_xor_sync(ALL_LANES, sum, 2);
        const float inverse = sum == 0.0f ? 0.0f : 1.0f / sum;  // no key was seen
        const int row = first + group() + 8 * half;
        if (row >= count) continue;
        bf16* place = out + row * static_cast<long long>(DIM) + 2 * of_group();
#pragma unroll
        for (int n = 0; n < DIM / COLS_A_MMA; ++n) {
            *reinterpret_cast<unsigned*>(place + n * COLS_A_MMA) =
                packed(result[n][2 * half] * inverse, result[n][2 * half + 1] * inverse);
        }
    }
}
