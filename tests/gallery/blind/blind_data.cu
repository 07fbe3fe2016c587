// Blind part, what moves data: sectors, bytes in flight, the host, bytes moved twice, DRAM at its ceiling.
// Expected times take DRAM at 4.3 TB/s, 132 SMs, 1.7 GHz; they were written before anything was measured.
#include "../gallery.cuh"

// ---- uncoalesced loads

// A thread a row of 128: a request of 32 lanes touches 32 lines. 138 MB: 32 µs of DRAM. 1.1 M requests of 32 lines each
// are 8,192 an SM, 32 clocks each: 150 µs and more where L1 loses lines before their last use.
constexpr int GEMV_ROWS = SMS * 2048, GEMV_DEPTH = 128;

extern "C" __global__ void __launch_bounds__(256) gemv_thread_a_row(const float *__restrict__ m,
                                                                   const float *__restrict__ x, float *y) {
    long row = blockIdx.x * 256L + threadIdx.x;
    float sum = 0;
#pragma unroll 4
    for (int k = 0; k < GEMV_DEPTH; ++k) sum = fmaf(m[row * GEMV_DEPTH + k], x[k], sum);  // FAULT
    y[row] = sum;
}

extern "C" __global__ void __launch_bounds__(256) gemv_thread_a_row_fix(const float4 *__restrict__ m,
                                                                       const float4 *__restrict__ x, float *y) {
    long row = (blockIdx.x * 256L + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < GEMV_DEPTH / 128; ++k) {
        float4 a = m[row * (GEMV_DEPTH / 4) + k * 32 + lane], b = x[k * 32 + lane];
        sum += (a.x * b.x + a.y * b.y) + (a.z * b.z + a.w * b.w);
    }
    sum = warp_sum(sum);
    if (lane == 0) y[row] = sum;
}

CASE(gemv_thread_a_row, OUT, GEMV_ROWS, 1, nullptr, gemv_thread_a_row<<<GEMV_ROWS / 256, 256>>>(A, B, OUT))
CASE(gemv_thread_a_row_fix, OUT, GEMV_ROWS, 1, "gemv_thread_a_row",
     gemv_thread_a_row_fix<<<GEMV_ROWS / 8, 256>>>((float4 *)A, (float4 *)B, OUT))

// The permutation before an FFT of 2^24 points. Needed 134 MB: 31 µs. A sector a lane, whose other seven floats are
// wanted an eighth of the grid later, when 64 MiB have passed through L2: 512 MiB read, 140 µs.
extern "C" __global__ void __launch_bounds__(256) fft_bit_reversal(const float *__restrict__ in, float *out) {
    unsigned i = blockIdx.x * 256 + threadIdx.x;
    out[i] = in[__brev(i) >> 8];  // FAULT
}

CASE(fft_bit_reversal, OUT, 1 << 24, 1, nullptr, fft_bit_reversal<<<(1 << 24) / 256, 256>>>(A, OUT))

// ---- uncoalesced stores

// Sixteen planes to pixels of 64 bytes, a float at a time: 32 sectors a request for 4. 268 MB: 62 µs of DRAM; 1 M
// requests of 32 sectors are 8,192 a SM, 32 clocks each, and as many sectors for L2: 160 µs and more.
constexpr int PLANES = 16;
constexpr long PIXELS = 2L << 20;

extern "C" __global__ void __launch_bounds__(256) planes_to_pixels(const float *__restrict__ in, float *out) {
    long i = blockIdx.x * 256L + threadIdx.x;
    float v[PLANES];
#pragma unroll
    for (int k = 0; k < PLANES; ++k) v[k] = in[k * PIXELS + i];
#pragma unroll
    for (int k = 0; k < PLANES; ++k) __stcg(out + i * PLANES + k, v[k] + 1.0f);  // FAULT
}

// Through shared memory, a warp 32 pixels: the row of 17 keeps both ways free of conflicts.
extern "C" __global__ void __launch_bounds__(256) planes_to_pixels_fix(const float *__restrict__ in, float *out) {
    __shared__ float staged[8][32 * (PLANES + 1)];
    long i = blockIdx.x * 256L + threadIdx.x;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float v[PLANES];
#pragma unroll
    for (int k = 0; k < PLANES; ++k) v[k] = in[k * PIXELS + i];
#pragma unroll
    for (int k = 0; k < PLANES; ++k) staged[warp][lane * (PLANES + 1) + k] = v[k] + 1.0f;
    __syncwarp();
    float *own = out + (i - lane) * PLANES;
#pragma unroll
    for (int k = 0; k < PLANES; ++k) {
        int at = k * 32 + lane;
        own[at] = staged[warp][at / PLANES * (PLANES + 1) + at % PLANES];
    }
}

CASE(planes_to_pixels, OUT, PIXELS *PLANES, 1, nullptr, planes_to_pixels<<<PIXELS / 256, 256>>>(A, OUT))
CASE(planes_to_pixels_fix, OUT, PIXELS *PLANES, 1, "planes_to_pixels",
     planes_to_pixels_fix<<<PIXELS / 256, 256>>>(A, OUT))

// Every element to the place that its rank gives it: the last pass of a sort. Needed 134 MB: 31 µs. 16.8 M sectors of
// which 4 bytes are written, in an array that L2 cannot hold: 537 MB written, and read before: 125 to 250 µs.
extern "C" __global__ void __launch_bounds__(256) scatter_by_rank(const float *__restrict__ in, float *out) {
    unsigned i = blockIdx.x * 256 + threadIdx.x;
    out[i * 2654435761u & 0xffffff] = in[i];  // FAULT
}

CASE(scatter_by_rank, OUT, 1 << 24, 1, nullptr, scatter_by_rank<<<(1 << 24) / 256, 256>>>(A, OUT))

// ---- bytes in flight

// Bytes to floats, a byte a thread and trip: 2 KiB of loads an SM under way, where 20 KiB are needed to have 0.9 TB/s
// of bytes and 3.4 TB/s of floats. 336 MB: 78 µs at the ceiling, about 200 µs so.
constexpr long BYTES = 64L << 20;

extern "C" __global__ void __launch_bounds__(256) dequantise_bytes(const signed char *__restrict__ in, float *out,
                                                                  float scale) {
#pragma unroll 1
    for (long i = blockIdx.x * 256L + threadIdx.x; i < BYTES; i += SMS * 8 * 256L)
        out[i] = scale * in[i];  // FAULT
}

// Four bytes a lane, four times: every request is whole lines.
extern "C" __global__ void __launch_bounds__(256) dequantise_bytes_fix(const char4 *__restrict__ in, float4 *out,
                                                                      float scale) {
    long i = blockIdx.x * 1024L + threadIdx.x;
    char4 v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = in[i + k * 256];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        out[i + k * 256] = make_float4(scale * v[k].x, scale * v[k].y, scale * v[k].z, scale * v[k].w);
}

CASE(dequantise_bytes, OUT, BYTES, 1, nullptr,
     dequantise_bytes<<<SMS * 8, 256>>>((signed char *)A, OUT, 0.25f))
CASE(dequantise_bytes_fix, OUT, BYTES, 1, "dequantise_bytes",
     dequantise_bytes_fix<<<BYTES / 4096, 256>>>((char4 *)A, (float4 *)OUT, 0.25f))

// ---- the host

// Looks up 16,384 rows of 512 bytes in a table of pinned host memory: 8 MiB over a link of about 50 GB/s are 170 µs; on
// the device it would be 4 µs.
extern "C" __global__ void __launch_bounds__(256) embedding_on_host(const float4 *__restrict__ table, float4 *out) {
    unsigned warp = (blockIdx.x * 256 + threadIdx.x) / 32, lane = threadIdx.x % 32;
    unsigned row = warp * 2654435761u & 16383;
    out[warp * 32 + lane] = table[row * 32 + lane];  // FAULT
}

CASE(embedding_on_host, OUT, HOST_COUNT, 1, nullptr,
     embedding_on_host<<<HOST_COUNT / 1024, 256>>>((float4 *)HOST, (float4 *)OUT))

// ---- bytes moved more often than the work needs

// Softmax of 32,768 rows of 1,024 in three launches, with what is between them in memory: five sweeps over 134 MB and
// the sums, 156 µs, each launch at DRAM's ceiling; two sweeps are needed, 62 µs.
constexpr int SOFT_ROWS = 32768, SOFT_WIDTH = 1024;

__device__ __forceinline__ float warp_max(float v) {
    for (int d = 16; d > 0; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    return v;
}

__device__ __forceinline__ float warp_total(float v) {
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

__device__ __forceinline__ float max4(float4 v) { return fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)); }

__device__ __forceinline__ long row_of_warp() { return (blockIdx.x * 256L + threadIdx.x) / 32; }

extern "C" __global__ void __launch_bounds__(256) softmax_step_max(const float4 *__restrict__ in, float *most) {
    const float4 *row = in + row_of_warp() * (SOFT_WIDTH / 4) + threadIdx.x % 32;
    float4 v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = row[k * 32];
    float found = max4(v[0]);
#pragma unroll
    for (int k = 1; k < 8; ++k) found = fmaxf(found, max4(v[k]));
    found = warp_max(found);
    if (threadIdx.x % 32 == 0) most[row_of_warp()] = found;
}

__device__ __forceinline__ float4 exp4(float4 v, float most) {
    return make_float4(__expf(v.x - most), __expf(v.y - most), __expf(v.z - most), __expf(v.w - most));
}

extern "C" __global__ void __launch_bounds__(256) softmax_step_exp(const float4 *__restrict__ in, const float *most,
                                                                  float4 *out, float *sums) {
    long at = row_of_warp() * (SOFT_WIDTH / 4) + threadIdx.x % 32;
    float own = most[row_of_warp()], sum = 0;
    float4 v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = in[at + k * 32];
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        v[k] = exp4(v[k], own);
        sum += sum4(v[k]);
        out[at + k * 32] = v[k];
    }
    sum = warp_total(sum);
    if (threadIdx.x % 32 == 0) sums[row_of_warp()] = sum;
}

__device__ __forceinline__ float4 times4(float4 v, float scale) {
    return make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale);
}

extern "C" __global__ void __launch_bounds__(256) softmax_step_scale(const float4 *__restrict__ in, const float *sums,
                                                                    float4 *out) {
    long at = row_of_warp() * (SOFT_WIDTH / 4) + threadIdx.x % 32;
    float scale = 1.0f / sums[row_of_warp()];
    float4 v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = in[at + k * 32];
#pragma unroll
    for (int k = 0; k < 8; ++k) out[at + k * 32] = times4(v[k], scale);
}

// The row of a warp in its registers: each byte once. 268 MB: 62 µs.
extern "C" __global__ void __launch_bounds__(256) softmax_warp_a_row(const float4 *__restrict__ in, float4 *out) {
    long at = row_of_warp() * (SOFT_WIDTH / 4) + threadIdx.x % 32;
    float4 v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = in[at + k * 32];
    float most = max4(v[0]), sum = 0;
#pragma unroll
    for (int k = 1; k < 8; ++k) most = fmaxf(most, max4(v[k]));
    most = warp_max(most);
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        v[k] = exp4(v[k], most);
        sum += sum4(v[k]);
    }
    float scale = 1.0f / warp_total(sum);
#pragma unroll
    for (int k = 0; k < 8; ++k) out[at + k * 32] = times4(v[k], scale);
}

CASE(softmax_in_steps, OUT, long(SOFT_ROWS) * SOFT_WIDTH, 1, nullptr, {
    float4 *between = (float4 *)(OUT + long(SOFT_ROWS) * SOFT_WIDTH);
    softmax_step_max<<<SOFT_ROWS / 8, 256>>>((float4 *)A, SMALL);
    softmax_step_exp<<<SOFT_ROWS / 8, 256>>>((float4 *)A, SMALL, between, SMALL + SOFT_ROWS);
    softmax_step_scale<<<SOFT_ROWS / 8, 256>>>(between, SMALL + SOFT_ROWS, (float4 *)OUT);
})
CASE(softmax_warp_a_row, OUT, long(SOFT_ROWS) * SOFT_WIDTH, 1, "softmax_in_steps",
     softmax_warp_a_row<<<SOFT_ROWS / 8, 256>>>((float4 *)A, (float4 *)OUT))

// Sum, sum of squares, products of neighbours, how many are above four: a sweep over 134 MB for each, one after the
// other in one launch. 537 MB at DRAM's ceiling: 125 µs instead of 31.
constexpr long STAT_COUNT = 32L << 20;
constexpr int STAT_BLOCKS = SMS * 4;

__device__ __forceinline__ float statistic(int which, float4 v) {
    if (which == 0) return sum4(v);
    if (which == 1) return (v.x * v.x + v.y * v.y) + (v.z * v.z + v.w * v.w);
    if (which == 2) return (v.x - 3.0f) * v.y + (v.z - 3.0f) * v.w;
    return float((v.x > 4) + (v.y > 4) + (v.z > 4) + (v.w > 4));
}

extern "C" __global__ void __launch_bounds__(512, 4) statistics_a_sweep_each(const float4 *__restrict__ in,
                                                                            float *out) {
    const long step = STAT_BLOCKS * 512L, n = STAT_COUNT / 4;
#pragma unroll 1
    for (int which = 0; which < 4; ++which) {
        float sum = 0;
        long i = blockIdx.x * 512L + threadIdx.x;
#pragma unroll 1
        for (; i + 3 * step < n; i += 4 * step) {
            float4 a = in[i], b = in[i + step], c = in[i + 2 * step], d = in[i + 3 * step];  // FAULT
            sum += (statistic(which, a) + statistic(which, b)) + (statistic(which, c) + statistic(which, d));
        }
        for (; i < n; i += step) sum += statistic(which, in[i]);  // FAULT
        sum = warp_sum(sum);
        if (threadIdx.x % 32 == 0) atomicAdd(out + which * 64, sum);
    }
}

extern "C" __global__ void __launch_bounds__(512, 3) statistics_a_sweep_each_fix(const float4 *__restrict__ in,
                                                                                float *out) {
    const long step = SMS * 3 * 512L, n = STAT_COUNT / 4;
    float sums[4] = {};
    long i = blockIdx.x * 512L + threadIdx.x;
#pragma unroll 1
    for (; i + 3 * step < n; i += 4 * step) {
        float4 v[4] = {in[i], in[i + step], in[i + 2 * step], in[i + 3 * step]};
#pragma unroll
        for (int k = 0; k < 4; ++k)
#pragma unroll
            for (int which = 0; which < 4; ++which) sums[which] += statistic(which, v[k]);
    }
    for (; i < n; i += step)
        for (int which = 0; which < 4; ++which) sums[which] += statistic(which, in[i]);
#pragma unroll
    for (int which = 0; which < 4; ++which) {
        float sum = warp_sum(sums[which]);
        if (threadIdx.x % 32 == 0) atomicAdd(out + which * 64, sum);
    }
}

CASE(statistics_a_sweep_each, SMALL, 4, 64, nullptr,
     statistics_a_sweep_each<<<STAT_BLOCKS, 512>>>((float4 *)A, SMALL))
CASE(statistics_a_sweep_each_fix, SMALL, 4, 64, "statistics_a_sweep_each",
     statistics_a_sweep_each_fix<<<SMS * 3, 512>>>((float4 *)A, SMALL))

// ---- at DRAM's ceiling

// Adds the residual and takes the root mean square off: rows of 4,096, a block each, 3 x 268 MB: 187 µs.
constexpr int NORM_ROWS = 16384;

extern "C" __global__ void __launch_bounds__(256) rmsnorm_with_residual(const float4 *__restrict__ x,
                                                                       const float4 *__restrict__ residual,
                                                                       float4 *out) {
    __shared__ float sums[8];
    long at = blockIdx.x * 1024L + threadIdx.x;
    float4 v[4], r[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = x[at + k * 256], r[k] = residual[at + k * 256];
    float squares = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        v[k].x += r[k].x, v[k].y += r[k].y, v[k].z += r[k].z, v[k].w += r[k].w;
        squares += (v[k].x * v[k].x + v[k].y * v[k].y) + (v[k].z * v[k].z + v[k].w * v[k].w);
    }
    squares = warp_total(squares);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = squares;
    __syncthreads();
    squares = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) squares += sums[k];
    float scale = rsqrtf(squares / 4096 + 1e-5f);
#pragma unroll
    for (int k = 0; k < 4; ++k) out[at + k * 256] = times4(v[k], scale);
}

CASE(rmsnorm_with_residual, OUT, NORM_ROWS * 4096L, 1, nullptr,
     rmsnorm_with_residual<<<NORM_ROWS, 256>>>((float4 *)A, (float4 *)B, (float4 *)OUT))

// Turns pairs by angles from a table of 32 KiB, two quads a thread: 2 x 512 MiB, 250 µs.
__device__ __forceinline__ float4 rotated(float4 v, float4 cs) {
    return make_float4(v.x * cs.x - v.y * cs.y, v.x * cs.y + v.y * cs.x, v.z * cs.z - v.w * cs.w,
                       v.z * cs.w + v.w * cs.z);
}

extern "C" __global__ void __launch_bounds__(256) rotary_whole_grid(const float4 *__restrict__ in,
                                                                   const float4 *__restrict__ angles, float4 *out) {
    long i = blockIdx.x * 512L + threadIdx.x;
    float4 a = in[i], b = in[i + 256];
    float4 c = __ldg(angles + i % 2048), d = __ldg(angles + (i + 256) % 2048);
    out[i] = rotated(a, c), out[i + 256] = rotated(b, d);
}

CASE(rotary_whole_grid, OUT, BIG, 1, nullptr,
     rotary_whole_grid<<<BIG / 2048, 256>>>((float4 *)A, (float4 *)B, (float4 *)OUT))

// Inner product of 2 x 512 MiB: reads only, 250 µs.
extern "C" __global__ void __launch_bounds__(512, 3) inner_product(const float4 *__restrict__ a,
                                                                  const float4 *__restrict__ b, float *out) {
    const long step = SMS * 3 * 512L;
    float sum = 0;
    long i = blockIdx.x * 512L + threadIdx.x;
#pragma unroll 1
    for (; i + 2 * step < BIG / 4; i += 3 * step) {
        float4 p[3], q[3];
#pragma unroll
        for (int k = 0; k < 3; ++k) p[k] = a[i + k * step], q[k] = b[i + k * step];
#pragma unroll
        for (int k = 0; k < 3; ++k)
            sum += (p[k].x * q[k].x + p[k].y * q[k].y) + (p[k].z * q[k].z + p[k].w * q[k].w);
    }
#pragma unroll 1
    for (; i < BIG / 4; i += step) sum += a[i].x * b[i].x + a[i].y * b[i].y + a[i].z * b[i].z + a[i].w * b[i].w;
    add_block_sum(sum, out);
}

CASE(inner_product, SMALL, 1, 1, nullptr, inner_product<<<SMS * 3, 512>>>((float4 *)A, (float4 *)B, SMALL))

// ---- near misses: at DRAM's ceiling for all that

// Rows of 4 KiB looked up in any order: every request is whole lines. 2 x 256 MiB: 125 µs.
extern "C" __global__ void __launch_bounds__(256) embedding_long_rows(const float4 *__restrict__ table, float4 *out) {
    long row = blockIdx.x * 2654435761u & 131071;
    out[blockIdx.x * 256L + threadIdx.x] = table[row * 256 + threadIdx.x];
}

CASE(embedding_long_rows, OUT, 65536L * 1024, 1, nullptr,
     embedding_long_rows<<<65536, 256>>>((float4 *)A, (float4 *)OUT))

// A factor written without its f: one product in doubles and two conversions a float, 2 x 512 MiB. A warp's 1 KiB are
// 54 clocks of DRAM; its eight conversions are 16, its four products 2.
extern "C" __global__ void __launch_bounds__(256) scale_by_double_literal(const float4 *__restrict__ in, float4 *out) {
    long i = blockIdx.x * 256L + threadIdx.x;
    float4 v = in[i];
    out[i] = make_float4(v.x * 0.1, v.y * 0.1, v.z * 0.1, v.w * 0.1);
}

CASE(scale_by_double_literal, OUT, BIG, 1, nullptr,
     scale_by_double_literal<<<BIG / 1024, 256>>>((float4 *)A, (float4 *)OUT))

// Layer norm that reads its row of 8 KiB twice more, from L1 and L2: DRAM moves each byte once. 2 x 256 MiB: 125 µs.
__device__ __forceinline__ float block_total(float v, float *sums) {
    v = warp_total(v);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
    __syncthreads();
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

extern "C" __global__ void __launch_bounds__(128) layernorm_reads_again(const float4 *in, float4 *out) {
    __shared__ float first[4], second[4];
    float sum = 0, squares = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) sum += sum4(__ldca(in + blockIdx.x * 512L + k * 128 + threadIdx.x));
    float mean = block_total(sum, first) / 2048;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        float4 v = __ldca(in + blockIdx.x * 512L + k * 128 + threadIdx.x);
        v.x -= mean, v.y -= mean, v.z -= mean, v.w -= mean;
        squares += (v.x * v.x + v.y * v.y) + (v.z * v.z + v.w * v.w);
    }
    float scale = rsqrtf(block_total(squares, second) / 2048 + 1e-5f);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        float4 v = __ldca(in + blockIdx.x * 512L + k * 128 + threadIdx.x);
        out[blockIdx.x * 512L + k * 128 + threadIdx.x] = times4(
            make_float4(v.x - mean, v.y - mean, v.z - mean, v.w - mean), scale);
    }
}

CASE(layernorm_reads_again, OUT, 32768L * 2048, 1, nullptr,
     layernorm_reads_again<<<32768, 128>>>((float4 *)A, (float4 *)OUT))
