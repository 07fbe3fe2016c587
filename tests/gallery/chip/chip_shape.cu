// Chains of dependent instructions with few warps, too few blocks, waves, stretches, lanes of different length, rows.
#include "../gallery.cuh"

__device__ __forceinline__ float mapped(float v, int steps) {
    float x = v * 0.125f;
#pragma unroll 16
    for (int r = 0; r < steps; ++r) x = fmaf(x, -0.75f * x, 1.0f);
    return x;
}

// ---- a chain a thread; two blocks of four warps an SM, as each asks for room that it hardly uses

constexpr int CHAINS = SMS * 16 * 128, LONG_ROOM = 110 << 10, SHORT_ROOM = 4 << 10;

__device__ __forceinline__ float reversed_chain(const float *in) {
    extern __shared__ float kept[];
    kept[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
    __syncthreads();
    return mapped(kept[127 - threadIdx.x], 1024);
}

extern "C" __global__ void __launch_bounds__(128) chain_in_few_warps(const float *in, float *out) {
    out[blockIdx.x * 128 + threadIdx.x] = reversed_chain(in);
}

extern "C" __global__ void __launch_bounds__(128) chain_in_few_warps_fix(const float *in, float *out) {
    out[blockIdx.x * 128 + threadIdx.x] = reversed_chain(in);
}

CASE(chain_in_few_warps, OUT, CHAINS, 1, nullptr, {
    allow_shared(chain_in_few_warps, LONG_ROOM);
    chain_in_few_warps<<<CHAINS / 128, 128, LONG_ROOM>>>(A, OUT);
})
CASE(chain_in_few_warps_fix, OUT, CHAINS, 1, "chain_in_few_warps",
     chain_in_few_warps_fix<<<CHAINS / 128, 128, SHORT_ROOM>>>(A, OUT))

// ---- an automaton whose table of 96 KiB every block has for itself: 128 threads share it, or 1,024

constexpr int STATES = 192, TABLE_BYTES = STATES * 256 * 2, TEXTS = SMS * 2 * 1024, TEXT_WORDS = 32;

template <int BLOCK>
__device__ __forceinline__ void run_automaton(const unsigned *__restrict__ in, float *out) {
    extern __shared__ unsigned short table[];
    for (int k = threadIdx.x; k < STATES * 256; k += BLOCK) table[k] = (k * 2654435761u >> 16) % STATES * 256;
    __syncthreads();
#pragma unroll 1
    for (int text = blockIdx.x * 1024 + threadIdx.x; text < (blockIdx.x + 1) * 1024; text += BLOCK) {
        unsigned state = 0, sum = 0;
#pragma unroll 4
        for (int r = 0; r < TEXT_WORDS; ++r) {
            unsigned word = in[r * 4096 + text] * (2 * text + 1);
#pragma unroll
            for (int q = 0; q < 4; ++q) {
                state = table[state + (word >> q * 8 & 255)];
                sum += state;
            }
        }
        out[text] = float(sum);
    }
}

extern "C" __global__ void __launch_bounds__(128) automaton_small_blocks(const unsigned *in, float *out) {
    run_automaton<128>(in, out);
}

extern "C" __global__ void __launch_bounds__(1024) automaton_small_blocks_fix(const unsigned *in, float *out) {
    run_automaton<1024>(in, out);
}

CASE(automaton_small_blocks, OUT, TEXTS, 1, nullptr, {
    allow_shared(automaton_small_blocks, TABLE_BYTES);
    automaton_small_blocks<<<TEXTS / 1024, 128, TABLE_BYTES>>>(ROWS, OUT);
})
CASE(automaton_small_blocks_fix, OUT, TEXTS, 1, "automaton_small_blocks", {
    allow_shared(automaton_small_blocks_fix, TABLE_BYTES);
    automaton_small_blocks_fix<<<TEXTS / 1024, 1024, TABLE_BYTES>>>(ROWS, OUT);
})

// ---- 64 rows, a block each

constexpr int MAP_ROWS = 64, MAP_ROW = 16384;

extern "C" __global__ void __launch_bounds__(1024) map_block_a_row(const float *in, float *out) {
    for (int x = threadIdx.x; x < MAP_ROW; x += 1024) {
        int at = blockIdx.x * MAP_ROW + x;
        out[at] = mapped(in[at], 1024);
    }
}

extern "C" __global__ void __launch_bounds__(1024) map_block_a_row_fix(const float *in, float *out) {
    int at = blockIdx.y * MAP_ROW + blockIdx.x * 1024 + threadIdx.x;
    out[at] = mapped(in[at], 1024);
}

CASE(map_block_a_row, OUT, MAP_ROWS *MAP_ROW, 1, nullptr, map_block_a_row<<<MAP_ROWS, 1024>>>(A, OUT))
CASE(map_block_a_row_fix, OUT, MAP_ROWS *MAP_ROW, 1, "map_block_a_row",
     map_block_a_row_fix<<<dim3(MAP_ROW / 1024, MAP_ROWS), 1024>>>(A, OUT))

// ---- 280 blocks of 1,024 threads, of which 264 fit at once

constexpr int WAVE_BLOCKS = 280;

extern "C" __global__ void __launch_bounds__(1024) map_second_wave(const float *in, float *out) {
    int at = blockIdx.x * 1024 + threadIdx.x;
    out[at] = mapped(in[at], 4096);
}

extern "C" __global__ void __launch_bounds__(128) map_second_wave_fix(const float *in, float *out) {
    int at = blockIdx.x * 128 + threadIdx.x;
    out[at] = mapped(in[at], 4096);
}

CASE(map_second_wave, OUT, WAVE_BLOCKS * 1024, 1, nullptr, map_second_wave<<<WAVE_BLOCKS, 1024>>>(A, OUT))
CASE(map_second_wave_fix, OUT, WAVE_BLOCKS * 1024, 1, "map_second_wave",
     map_second_wave_fix<<<WAVE_BLOCKS * 8, 128>>>(A, OUT))

// ---- all pairs of a triangle: a block an SM takes rows beside each other, or rows from everywhere

constexpr int CORNERS = SMS * 1024;

__device__ __forceinline__ float rest_of_row(const float *in, int row) { return mapped(in[row], (CORNERS - row) / 16); }

extern "C" __global__ void __launch_bounds__(1024) triangle_in_stretches(const float *in, float *out) {
    int row = blockIdx.x * 1024 + threadIdx.x;
    out[row] = rest_of_row(in, row);
}

extern "C" __global__ void __launch_bounds__(1024) triangle_in_stretches_fix(const float *in, float *out) {
    int row = (threadIdx.x / 32 * SMS + blockIdx.x) * 32 + threadIdx.x % 32;
    out[row] = rest_of_row(in, row);
}

CASE(triangle_in_stretches, OUT, CORNERS, 1, nullptr, triangle_in_stretches<<<SMS, 1024>>>(A, OUT))
CASE(triangle_in_stretches_fix, OUT, CORNERS, 1, "triangle_in_stretches",
     triangle_in_stretches_fix<<<SMS, 1024>>>(A, OUT))

// ---- iterations until each point is done, 16 to 2,048 of them: lanes wait for the slowest, or take their next point

constexpr int WALKERS = SMS * 8 * 256, POINTS_EACH = 8;

__device__ __forceinline__ int steps_of(int point) { return 16 << ((point * 2654435761u) >> 29); }

extern "C" __global__ void __launch_bounds__(256) points_lane_by_lane(const float *__restrict__ in, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    for (int p = 0; p < POINTS_EACH; ++p) {
        int point = p * WALKERS + i, steps = steps_of(point);
        float x = in[point] * 0.125f;
#pragma unroll 1
        for (int r = 0; r < steps; ++r) {
            x = fmaf(x, -0.75f * x, 1.0f);  // FAULT
            x = fmaf(x, 0.5f, 0.125f);      // FAULT
            x = fmaf(x, -0.75f * x, 1.0f);  // FAULT
            x = fmaf(x, 0.5f, 0.125f);      // FAULT
        }
        out[point] = x;
    }
}

extern "C" __global__ void __launch_bounds__(256) points_lane_by_lane_fix(const float *__restrict__ in, float *out) {
    int point = blockIdx.x * 256 + threadIdx.x, left = steps_of(point);
    float x = in[point] * 0.125f;
    while (true) {
        x = fmaf(x, -0.75f * x, 1.0f);
        x = fmaf(x, 0.5f, 0.125f);
        x = fmaf(x, -0.75f * x, 1.0f);
        x = fmaf(x, 0.5f, 0.125f);
        if (--left == 0) {
            out[point] = x;
            point += WALKERS;
            if (point >= WALKERS * POINTS_EACH) break;
            left = steps_of(point), x = in[point] * 0.125f;
        }
    }
}

CASE(points_lane_by_lane, OUT, WALKERS *POINTS_EACH, 1, nullptr,
     points_lane_by_lane<<<WALKERS / 256, 256>>>(A, OUT))
CASE(points_lane_by_lane_fix, OUT, WALKERS *POINTS_EACH, 1, "points_lane_by_lane",
     points_lane_by_lane_fix<<<WALKERS / 256, 256>>>(A, OUT))

// ---- a sparse product, 32 entries a row: a thread a row reads 32 places at once, or a warp a row reads one

constexpr int SPARSE_ROWS = 128 << 10, ENTRIES = 32;

__device__ __forceinline__ float entry(const float *values, const unsigned *columns, const float *x, int row, int k) {
    return values[row * ENTRIES + k] * x[(columns[row * ENTRIES + k] + k) & 0xffff];  // FAULT
}

extern "C" __global__ void __launch_bounds__(256) sparse_thread_a_row(const float *__restrict__ values,
                                                                     const unsigned *__restrict__ columns,
                                                                     const float *__restrict__ x, float *y) {
    int row = blockIdx.x * 256 + threadIdx.x;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < ENTRIES; ++k) sum += entry(values, columns, x, row, k);
    y[row] = sum;
}

extern "C" __global__ void __launch_bounds__(256) sparse_thread_a_row_fix(const float *__restrict__ values,
                                                                         const unsigned *__restrict__ columns,
                                                                         const float *__restrict__ x, float *y) {
    int row = blockIdx.x * 8 + threadIdx.x / 32;
    float sum = warp_sum(entry(values, columns, x, row, threadIdx.x % 32));
    if (threadIdx.x % 32 == 0) y[row] = sum;
}

CASE(sparse_thread_a_row, OUT, SPARSE_ROWS, 1, nullptr,
     sparse_thread_a_row<<<SPARSE_ROWS / 256, 256>>>(A, ROWS, B, OUT))
CASE(sparse_thread_a_row_fix, OUT, SPARSE_ROWS, 1, "sparse_thread_a_row",
     sparse_thread_a_row_fix<<<SPARSE_ROWS / 8, 256>>>(A, ROWS, B, OUT))

// ---- healthy: vectors turned again and again, four independent ones a thread

extern "C" __global__ void __launch_bounds__(256) healthy_rotations(const float2 *in, float2 *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float2 v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = in[k * WALKERS + i];
#pragma unroll 8
    for (int r = 0; r < 1024; ++r)
#pragma unroll
        for (int k = 0; k < 4; ++k)
            v[k] = make_float2(fmaf(v[k].x, 0.8f, v[k].y * -0.6f), fmaf(v[k].x, 0.6f, v[k].y * 0.8f));
#pragma unroll
    for (int k = 0; k < 4; ++k) out[k * WALKERS + i] = v[k];
}

CASE(healthy_rotations, OUT, WALKERS * 8, 1, nullptr,
     healthy_rotations<<<WALKERS / 256, 256>>>((float2 *)A, (float2 *)OUT))
