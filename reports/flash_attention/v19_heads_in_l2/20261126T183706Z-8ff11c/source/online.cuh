// The online softmax of a warp group: what fragments.cuh does for a warp, on scores of any width.
#pragma once
#include "order.cuh"
#include "warp_group.cuh"

// Of a lane's two rows: the largest score, and the sum of the powers that this lane has.
struct Statistics {
    float max[2] = {-INFINITY, -INFINITY}, sum[2] = {};
};

__device__ inline float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ inline unsigned packed(float low, float high) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const unsigned*>(&pair);
}

// The first of this lane's two rows, of the 64 of its warp group.
__device__ inline int own_row() { return threadIdx.x % GROUP_THREADS / WARP * 16 + threadIdx.x % WARP / 4; }

// Leaves out what this lane's two rows, of 64 from `row` on, do not see of the keys from `key` on.
template <int WIDE>
__device__ inline void mask(Sums<WIDE>& scores, const Attention& a, int row, int key) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int seen = a.seen_by(row + own_row() + 8 * half) - key - 2 * static_cast<int>(threadIdx.x % 4);
#pragma unroll
        for (int n = 0; n < WIDE; ++n) {
            if (n * 8 >= seen) scores[n][2 * half] = -INFINITY;
            if (n * 8 + 1 >= seen) scores[n][2 * half + 1] = -INFINITY;
        }
    }
}

// What is subtracted from scores that have been scaled: -inf - -inf is no number.
__device__ inline float origin_of(float max, float factor) { return max == -INFINITY ? 0.0f : max * factor; }

__device__ inline float largest_of_row(float mine) {
    mine = fmaxf(mine, __shfl_xor_sync(ALL_LANES, mine, 1));
    return fmaxf(mine, __shfl_xor_sync(ALL_LANES, mine, 2));
}

// Takes up the maxima of new scores. `before`: by which sums of powers made earlier are to be scaled, as maxima may
// have risen; returns whether they are to be. SELDOM: not before a score is so many powers of two above what counts as
// the maximum, which is then lower than the maximum, but the same for all that is summed. A scheduler may have this
// warp alone: two chains for each of both rows, as an instruction waits for the one before it.
template <int SELDOM, int WIDE>
__device__ inline bool rise(const Sums<WIDE>& scores, Statistics& rows, float (&before)[2], float factor) {
    float max[2][2] = {{rows.max[0], rows.max[0]}, {rows.max[1], rows.max[1]}};
#pragma unroll
    for (int i = 0; i < 4 * WIDE; ++i) {
        float& one = max[i % 4 / 2][i / 4 % 2];
        one = fmaxf(one, scores[i / 4][i % 4]);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) max[half][0] = largest_of_row(fmaxf(max[half][0], max[half][1]));
    const auto is_above = [&](int half) { return (max[half][0] - rows.max[half]) * factor > SELDOM; };
    if (SELDOM > 0 && !__any_sync(ALL_LANES, is_above(0) || is_above(1))) return false;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        before[half] = power_of_two(rows.max[half] * factor - origin_of(max[half][0], factor));
        rows.max[half] = max[half][0];
        rows.sum[half] *= before[half];
    }
    return true;
}

// Makes powers of scores, and sums them up.
template <int WIDE>
__device__ inline void raise(Sums<WIDE>& scores, Statistics& rows, float factor) {
    const float origin[2] = {origin_of(rows.max[0], factor), origin_of(rows.max[1], factor)};
    float sum[2][2] = {{rows.sum[0]}, {rows.sum[1]}};
#pragma unroll
    for (int i = 0; i < 4 * WIDE; ++i) {
        const int half = i % 4 / 2;
        float& power = scores[i / 4][i % 4];
        power = power_of_two(fmaf(power, factor, -origin[half]));
        sum[half][i / 4 % 2] += power;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) rows.sum[half] = sum[half][0] + sum[half][1];
}

__device__ inline void settle(Statistics& rows) {
    asm volatile("" : "+f"(rows.sum[0]), "+f"(rows.sum[1])::"memory");
}

template <int COLUMNS>
__device__ inline void scale(Sums<COLUMNS>& result, const float (&by)[2]) {
#pragma unroll
    for (int i = 0; i < 4 * COLUMNS; ++i) result[i / 4][i % 4] *= by[i % 4 / 2];
}

template <int WIDE>
__device__ inline void pack(Powers<WIDE>& powers, const Sums<WIDE>& scores) {
#pragma unroll
    for (int i = 0; i < 2 * WIDE; ++i) {
        const float* pair = scores[i / 2] + i % 2 * 2;
        powers[i / 4][i % 4] = packed(pair[0], pair[1]);
    }
}

// Word i of lane t of four neighbours goes to lane i as word t.
__device__ inline void transpose_among_four(unsigned (&words)[4]) {
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int apart = 1; apart <= 2; apart *= 2) {
        const bool upper = t & apart;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            unsigned &low = words[apart == 1 ? 2 * i : i], &high = words[apart == 1 ? 2 * i + 1 : i + 2];
            const unsigned got = __shfl_xor_sync(ALL_LANES, upper ? low : high, apart);
            if (upper) low = got;
            else high = got;
        }
    }
}

// Divides by the sums of powers and writes 64 rows of `out`, a head's, from `row` on: four lanes exchange blocks of two
// columns, so that each has 16 bytes.
template <int COLUMNS>
__device__ inline void write(bf16* out, const Sums<COLUMNS>& result, const Statistics& rows, int row, int count) {
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        float sum = rows.sum[half];
        sum += __shfl_xor_sync(ALL_LANES, sum, 1);
        sum += __shfl_xor_sync(ALL_LANES, sum, 2);
        const float inverse = rows.max[half] == -INFINITY ? 0.0f : 1.0f / sum;  // no key was seen
        const int own = row + own_row() + 8 * half;
        bf16* place = out + own * static_cast<long long>(8 * COLUMNS) + 8 * t;
#pragma unroll
        for (int n = 0; n < COLUMNS; n += 4) {
            unsigned words[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                words[i] = packed(result[n + i][2 * half] * inverse, result[n + i][2 * half + 1] * inverse);
            }
            transpose_among_four(words);
            if (own < count) *reinterpret_cast<uint4*>(place + 8 * n) = {words[0], words[1], words[2], words[3]};
        }
    }
}
