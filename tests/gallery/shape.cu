// The shape of a launch: occupancy, too few blocks, last waves, uneven work, launches too short to be worth one.
#include "gallery.cuh"

// ---- occupancy: every warp follows a list of rows of 128 bytes, each of which names the next

__device__ __forceinline__ unsigned warp_number() { return (blockIdx.x * blockDim.x + threadIdx.x) / 32; }

__device__ __forceinline__ unsigned first_row(unsigned warp) { return warp * 2654435761u % ROW_COUNT; }

__device__ __forceinline__ unsigned next_row(const unsigned *rows, unsigned row) {
    return __ldg(rows + row * 32L + threadIdx.x % 32);
}

constexpr int STEPS = 40, KEPT = 160, FULL_WARPS = SMS * 64;

extern "C" __global__ void __launch_bounds__(256) occupancy_registers(const unsigned *rows, const float *in,
                                                                     float *out) {
    float kept[KEPT];
#pragma unroll
    for (int k = 0; k < KEPT; ++k)
        asm volatile("ld.global.f32 %0, [%1];" : "=f"(kept[k]) : "l"(in + k * 32 + threadIdx.x % 32));
    unsigned row = first_row(warp_number());
#pragma unroll 1
    for (int s = 0; s < STEPS; ++s) row = next_row(rows, row);
    float sum = row % 64;
#pragma unroll
    for (int k = 0; k < KEPT; ++k) sum = fmaf(sum, 0.5f, kept[k]);
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}

// The same numbers, loaded where they are used: 64 warps an SM.
extern "C" __global__ void __launch_bounds__(256, 8) occupancy_registers_fix(const unsigned *rows, const float *in,
                                                                            float *out) {
    unsigned row = first_row(warp_number());
#pragma unroll 1
    for (int s = 0; s < STEPS; ++s) row = next_row(rows, row);
    float sum = row % 64;
#pragma unroll 8
    for (int k = 0; k < KEPT; ++k) sum = fmaf(sum, 0.5f, in[k * 32 + threadIdx.x % 32]);
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}

CASE(occupancy_registers, OUT, FULL_WARPS * 32, 1, nullptr, occupancy_registers<<<FULL_WARPS / 8, 256>>>(ROWS, A, OUT))
CASE(occupancy_registers_fix, OUT, FULL_WARPS * 32, 1, "occupancy_registers",
     occupancy_registers_fix<<<FULL_WARPS / 8, 256>>>(ROWS, A, OUT))

// Remembers its way in shared memory, with room for 192 steps where 40 are taken.
__device__ __forceinline__ void remember_rows(const unsigned *rows, float *out) {
    extern __shared__ unsigned history[];
    unsigned row = first_row(warp_number());
#pragma unroll 1
    for (int s = 0; s < STEPS; ++s) {
        row = next_row(rows, row);
        history[s * 128 + threadIdx.x] = row;
    }
    float sum = 0;
#pragma unroll 8
    for (int s = 0; s < STEPS; ++s) sum += history[s * 128 + threadIdx.x] % 64;
    out[blockIdx.x * 128 + threadIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(128) occupancy_shared(const unsigned *rows, float *out) {
    remember_rows(rows, out);
}

extern "C" __global__ void __launch_bounds__(128) occupancy_shared_fix(const unsigned *rows, float *out) {
    remember_rows(rows, out);
}

CASE(occupancy_shared, OUT, FULL_WARPS * 32, 1, nullptr, {
    allow_shared(occupancy_shared, 192 * 128 * 4);
    occupancy_shared<<<FULL_WARPS / 4, 128, 192 * 128 * 4>>>(ROWS, OUT);
})
CASE(occupancy_shared_fix, OUT, FULL_WARPS * 32, 1, "occupancy_shared", {
    allow_shared(occupancy_shared_fix, STEPS * 128 * 4);
    occupancy_shared_fix<<<FULL_WARPS / 4, 128, STEPS * 128 * 4>>>(ROWS, OUT);
})

// Blocks of one warp: 32 blocks are all an SM takes.
__device__ __forceinline__ void follow_rows(const unsigned *rows, float *out) {
    unsigned row = first_row(warp_number());
#pragma unroll 1
    for (int s = 0; s < 2 * STEPS; ++s) row = next_row(rows, row);
    out[blockIdx.x * blockDim.x + threadIdx.x] = row % 64;
}

extern "C" __global__ void __launch_bounds__(32) occupancy_blocks(const unsigned *rows, float *out) {
    follow_rows(rows, out);
}

extern "C" __global__ void __launch_bounds__(256) occupancy_blocks_fix(const unsigned *rows, float *out) {
    follow_rows(rows, out);
}

CASE(occupancy_blocks, OUT, FULL_WARPS * 32, 1, nullptr, occupancy_blocks<<<FULL_WARPS, 32>>>(ROWS, OUT))
CASE(occupancy_blocks_fix, OUT, FULL_WARPS * 32, 1, "occupancy_blocks",
     occupancy_blocks_fix<<<FULL_WARPS / 8, 256>>>(ROWS, OUT))

// A barrier chosen at run time makes a block reserve all sixteen.
extern "C" __global__ void __launch_bounds__(64) occupancy_barriers(const unsigned *rows, float *out, int barrier) {
    unsigned row = first_row(warp_number());
#pragma unroll 1
    for (int s = 0; s < STEPS; ++s) row = next_row(rows, row);
    asm volatile("bar.sync %0, 64;" ::"r"(barrier) : "memory");
    out[blockIdx.x * 64 + threadIdx.x] = row % 64;
}

extern "C" __global__ void __launch_bounds__(64) occupancy_barriers_fix(const unsigned *rows, float *out) {
    unsigned row = first_row(warp_number());
#pragma unroll 1
    for (int s = 0; s < STEPS; ++s) row = next_row(rows, row);
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[blockIdx.x * 64 + threadIdx.x] = row % 64;
}

CASE(occupancy_barriers, OUT, FULL_WARPS * 32, 1, nullptr, occupancy_barriers<<<FULL_WARPS / 2, 64>>>(ROWS, OUT, 3))
CASE(occupancy_barriers_fix, OUT, FULL_WARPS * 32, 1, "occupancy_barriers",
     occupancy_barriers_fix<<<FULL_WARPS / 2, 64>>>(ROWS, OUT))

// One block an SM, sixteen warps of 64, and DRAM at its ceiling: eight quads under way a thread.
extern "C" __global__ void __launch_bounds__(512) occupancy_low_at_ceiling(const float4 *__restrict__ in, float *out) {
    const long step = SMS * 512L, n = BIG / 4;
    float sum = 0;
    long i = blockIdx.x * 512L + threadIdx.x;
    float4 v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = in[i + k * step];
#pragma unroll 1
    for (i += 8 * step; i + 7 * step < n; i += 8 * step)
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            sum += sum4(v[k]);
            v[k] = in[i + k * step];
        }
#pragma unroll
    for (int k = 0; k < 8; ++k) sum += sum4(v[k]);
    for (; i < n; i += step) sum += sum4(in[i]);
    add_block_sum(sum, out);
}

CASE(occupancy_low_at_ceiling, SMALL, 1, 1, "healthy_sum", {
    allow_shared(occupancy_low_at_ceiling, 120 << 10);
    occupancy_low_at_ceiling<<<SMS, 512, 120 << 10>>>((float4 *)A, SMALL);
})

// ---- too few blocks

template <int EACH>
__device__ __forceinline__ float sums_and_products(float x, int rounds) {
    float a[EACH];
    for (int k = 0; k < EACH; ++k) a[k] = x + k;
#pragma unroll 4
    for (int r = 0; r < rounds; ++r)
#pragma unroll
        for (int k = 0; k < EACH; ++k) a[k] = fmaf(a[k], 0.5f, 1.0f + k);
    float sum = 0;
    for (int k = 0; k < EACH; ++k) sum += a[k];
    return sum;
}

constexpr int UNDERFILL_COUNT = SMS * 8 * 256;

// 33 blocks of 256 threads, 32 elements a thread.
extern "C" __global__ void __launch_bounds__(256) underfill_some_blocks(const float *in, float *out) {
#pragma unroll 1
    for (int i = blockIdx.x * 256 + threadIdx.x; i < UNDERFILL_COUNT; i += 33 * 256)
        out[i] = sums_and_products<8>(in[i], 256);
}

extern "C" __global__ void __launch_bounds__(256) underfill_some_blocks_fix(const float *in, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    out[i] = sums_and_products<8>(in[i], 256);
}

CASE(underfill_some_blocks, OUT, UNDERFILL_COUNT, 1, nullptr, underfill_some_blocks<<<33, 256>>>(A, OUT))
CASE(underfill_some_blocks_fix, OUT, UNDERFILL_COUNT, 1, "underfill_some_blocks",
     underfill_some_blocks_fix<<<UNDERFILL_COUNT / 256, 256>>>(A, OUT))

// A block a row, and only sixteen rows, of 4 MiB each.
constexpr int FEW_ROWS = 16, ROW_LENGTH = 1 << 20, PARTS = 66;

extern "C" __global__ void __launch_bounds__(1024) underfill_block_a_row(const float4 *__restrict__ in, float *out) {
    const float4 *row = in + blockIdx.x * (ROW_LENGTH / 4);
    float sum = 0;
#pragma unroll 4
    for (int i = threadIdx.x; i < ROW_LENGTH / 4; i += 1024) sum += sum4(row[i]);
    add_block_sum(sum, out + blockIdx.x);
}

extern "C" __global__ void __launch_bounds__(256) underfill_block_a_row_fix(const float4 *__restrict__ in, float *out) {
    const float4 *row = in + blockIdx.y * (ROW_LENGTH / 4);
    float sum = 0;
#pragma unroll 4
    for (int i = blockIdx.x * 256 + threadIdx.x; i < ROW_LENGTH / 4; i += PARTS * 256) sum += sum4(row[i]);
    add_block_sum(sum, out + blockIdx.y);
}

CASE(underfill_block_a_row, SMALL, FEW_ROWS, 1, nullptr, underfill_block_a_row<<<FEW_ROWS, 1024>>>((float4 *)A, SMALL))
CASE(underfill_block_a_row_fix, SMALL, FEW_ROWS, 1, "underfill_block_a_row",
     underfill_block_a_row_fix<<<dim3(PARTS, FEW_ROWS), 256>>>((float4 *)A, SMALL))

// Half a wave, but a block on every SM, with enough under way to fill DRAM.
extern "C" __global__ void __launch_bounds__(1024) underfill_half_wave_enough(const float4 *__restrict__ in,
                                                                             float *out) {
    const long step = SMS * 1024L, n = BIG / 4;
    float sum = 0;
    long i = blockIdx.x * 1024L + threadIdx.x;
#pragma unroll 1
    for (; i + 5 * step < n; i += 6 * step) {
        float4 a = in[i], b = in[i + step], c = in[i + 2 * step], d = in[i + 3 * step];
        float4 e = in[i + 4 * step], f = in[i + 5 * step];
        sum += (sum4(a) + sum4(b)) + (sum4(c) + sum4(d)) + (sum4(e) + sum4(f));
    }
    for (; i < n; i += step) sum += sum4(in[i]);
    add_block_sum(sum, out);
}

CASE(underfill_half_wave_enough, SMALL, 1, 1, "healthy_sum",
     underfill_half_wave_enough<<<SMS, 1024>>>((float4 *)A, SMALL))

// ---- the last wave

constexpr int TAIL_BLOCKS = SMS + 8, TAIL_COUNT = TAIL_BLOCKS * 1024, TABLE_BYTES = 120 << 10;

// One block an SM (it stages a table of 120 KiB), 140 blocks on 132 SMs.
extern "C" __global__ void __launch_bounds__(1024) tail_one_wave_and_eight(const float *in, float *out) {
    extern __shared__ float table[];
    for (int k = threadIdx.x; k < TABLE_BYTES / 4; k += 1024) table[k] = in[k];
    __syncthreads();
    int i = blockIdx.x * 1024 + threadIdx.x;
    out[i] = sums_and_products<8>(table[i % 1024], 1024);
}

extern "C" __global__ void __launch_bounds__(128) tail_one_wave_and_eight_fix(const float *in, float *out) {
    int i = blockIdx.x * 128 + threadIdx.x;
    out[i] = sums_and_products<8>(in[i % 1024], 1024);
}

CASE(tail_one_wave_and_eight, OUT, TAIL_COUNT, 1, nullptr, {
    allow_shared(tail_one_wave_and_eight, TABLE_BYTES);
    tail_one_wave_and_eight<<<TAIL_BLOCKS, 1024, TABLE_BYTES>>>(A, OUT);
})
CASE(tail_one_wave_and_eight_fix, OUT, TAIL_COUNT, 1, "tail_one_wave_and_eight",
     tail_one_wave_and_eight_fix<<<TAIL_COUNT / 128, 128>>>(A, OUT))

// Integer work, two waves and seven blocks.
extern "C" __global__ void __launch_bounds__(1024) tail_two_waves_and_seven(const unsigned *in, float *out) {
    extern __shared__ unsigned seeds[];
    for (int k = threadIdx.x; k < TABLE_BYTES / 4; k += 1024) seeds[k] = in[k];
    __syncthreads();
    int i = blockIdx.x * 1024 + threadIdx.x;
    unsigned a = seeds[threadIdx.x] + i, b = a ^ 0x9e3779b9u;
#pragma unroll 4
    for (int r = 0; r < 512; ++r) {
        a ^= a << 13, b ^= b << 13;
        a ^= a >> 17, b ^= b >> 17;
        a ^= a << 5, b ^= b << 5;
    }
    out[i] = float((a ^ b) & 1023);
}

CASE(tail_two_waves_and_seven, OUT, (2 * SMS + 7) * 1024, 1, nullptr, {
    allow_shared(tail_two_waves_and_seven, TABLE_BYTES);
    tail_two_waves_and_seven<<<2 * SMS + 7, 1024, TABLE_BYTES>>>(ROWS, OUT);
})

// Twenty waves and a bit: the last one costs 2 %.
extern "C" __global__ void __launch_bounds__(256) tail_after_many_waves(const float *in, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    out[i] = sums_and_products<8>(in[i], 256);
}

CASE(tail_after_many_waves, OUT, (SMS * 8 * 20 + 40) * 256, 1, nullptr,
     tail_after_many_waves<<<SMS * 8 * 20 + 40, 256>>>(A, OUT))

// ---- uneven work

constexpr int ITEMS_EACH = 8, ITEM_BLOCKS = SMS * 8, ITEMS = ITEM_BLOCKS * ITEMS_EACH, LONG_ITEMS = SMS;

__device__ __forceinline__ void do_item(int item, const float *in, float *out) {
    int rounds = item < LONG_ITEMS ? 64 * 24 : 24;
    int i = item * 256 + threadIdx.x;
    out[i] = sums_and_products<4>(in[i], rounds);
}

// The long items come first, and each block takes its share in one piece: 17 blocks get all of them.
extern "C" __global__ void __launch_bounds__(256, 8) imbalance_long_items(const float *in, float *out) {
#pragma unroll 1
    for (int k = 0; k < ITEMS_EACH; ++k) do_item(blockIdx.x * ITEMS_EACH + k, in, out);
}

extern "C" __global__ void __launch_bounds__(256, 8) imbalance_long_items_fix(const float *in, float *out) {
#pragma unroll 1
    for (int k = 0; k < ITEMS_EACH; ++k) do_item(k * ITEM_BLOCKS + blockIdx.x, in, out);
}

CASE(imbalance_long_items, OUT, ITEMS * 256, 1, nullptr, imbalance_long_items<<<ITEM_BLOCKS, 256>>>(A, OUT))
CASE(imbalance_long_items_fix, OUT, ITEMS * 256, 1, "imbalance_long_items",
     imbalance_long_items_fix<<<ITEM_BLOCKS, 256>>>(A, OUT))

// The rows of a sparse matrix, a warp each: eight of 8,448 hold a hundred times more than the rest.
constexpr int SPARSE_ROWS = FULL_WARPS, SHORT_ROW = 1024, HEAVY_ROW = 128 * 1024, HEAVY_EVERY = SPARSE_ROWS / 8;

extern "C" __global__ void __launch_bounds__(256) imbalance_long_rows(const float4 *__restrict__ in, float *out) {
    int row = warp_number(), heavy_before = (row + HEAVY_EVERY - 1) / HEAVY_EVERY;
    long start = row * long(SHORT_ROW) + heavy_before * long(HEAVY_ROW - SHORT_ROW);
    int length = row % HEAVY_EVERY == 0 ? HEAVY_ROW : SHORT_ROW;
    const float4 *own = in + start / 4;
    float sum = 0;
#pragma unroll 4
    for (int i = threadIdx.x % 32; i < length / 4; i += 32) sum += sum4(own[i]);
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) out[row] = sum;
}

CASE(imbalance_long_rows, OUT, SPARSE_ROWS, 1, nullptr,
     imbalance_long_rows<<<SPARSE_ROWS / 8, 256>>>((float4 *)A, OUT))

// Blocks differ by up to 15 %, but there are many of them and the chip evens it out.
extern "C" __global__ void __launch_bounds__(256) imbalance_evened_out(const float *in, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    out[i] = sums_and_products<8>(in[i], 200 + (blockIdx.x * 2654435761u >> 28) * 2);
}

CASE(imbalance_evened_out, OUT, SMS * 8 * 24 * 256, 1, nullptr, imbalance_evened_out<<<SMS * 8 * 24, 256>>>(A, OUT))

// ---- launches that are too short

extern "C" __global__ void launch_tiny_step(const float *in, float *out, float shift) {
    int i = blockIdx.x * 256 + threadIdx.x;
    out[i] = in[i] + shift;
}

extern "C" __global__ void launch_tiny_steps_fix(const float *in, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = in[i];
    for (int k = 0; k < 4; ++k) v += k + 1.0f;
    out[i] = v;
}

constexpr int TINY = SMS * 8 * 256;
CASE(launch_tiny_steps, OUT, TINY, 1, nullptr, {
    for (int k = 0; k < 4; ++k) launch_tiny_step<<<TINY / 256, 256>>>(k ? OUT : A, OUT, k + 1.0f);
})
CASE(launch_tiny_steps_fix, OUT, TINY, 1, "launch_tiny_steps", launch_tiny_steps_fix<<<TINY / 256, 256>>>(A, OUT))

extern "C" __global__ void launch_small_norm(const float4 *in, float4 *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 v = in[i];
    float scale = rsqrtf(1.0f + v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w);
    out[i] = make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale);
}

CASE(launch_small_norm, OUT, TINY, 1, nullptr, launch_small_norm<<<TINY / 4 / 256, 256>>>((float4 *)A, (float4 *)OUT))

// A tenth of a long kernel, yet ten times what a launch costs.
extern "C" __global__ void launch_short_but_worth_it(const float4 *in, float4 *out) {
    long i = blockIdx.x * 512L + threadIdx.x;
    float4 a = in[i], b = in[i + 256];
    out[i] = a, out[i + 256] = b;
}

CASE(launch_short_but_worth_it, OUT, 16 << 20, 1, nullptr,
     launch_short_but_worth_it<<<(16 << 20) / 2048, 256>>>((float4 *)A, (float4 *)OUT))
