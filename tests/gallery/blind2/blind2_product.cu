// Products of matrices in floats and halves without tensor cores, and a sparse one that lives on L2.
#include "../gallery.cuh"

constexpr int TILE = 128, DEEP = 16, TURNED = TILE + 4;

__device__ __forceinline__ void load8(const half *from, float *to) {
    uint4 raw = *(const uint4 *)from;
    const half2 *pairs = (const half2 *)&raw;
#pragma unroll
    for (int i = 0; i < 4; ++i) to[2 * i] = __low2float(pairs[i]), to[2 * i + 1] = __high2float(pairs[i]);
}

__device__ __forceinline__ void load8(const float *from, float *to) {
    *(float4 *)to = *(const float4 *)from, *(float4 *)(to + 4) = *(const float4 *)(from + 4);
}

// Adds the product of a strip of a (128 rows) and one of b (128 columns) to 8 x 8 sums a thread, 256 threads.
template <typename T>
__device__ __forceinline__ void multiply_strips(
    const T *a, int a_pitch, const T *b, int b_pitch, int depth, float (&sum)[8][8]) {
    __shared__ __align__(16) float left[DEEP][TURNED], right[DEEP][TILE];
    int t = threadIdx.x, tx = t % 16, ty = t / 16;
    const T *from_a = a + (long)(t / 2) * a_pitch + t % 2 * 8;
    const T *from_b = b + (long)(t / 16) * b_pitch + t % 16 * 8;
    float next_a[8], next_b[8];
    load8(from_a, next_a), load8(from_b, next_b);
#pragma unroll 1
    for (int k = 0; k < depth; k += DEEP) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 8; ++i) left[t % 2 * 8 + i][t / 2] = next_a[i];
        *(float4 *)&right[t / 16][t % 16 * 8] = *(float4 *)next_b;
        *(float4 *)&right[t / 16][t % 16 * 8 + 4] = *(float4 *)(next_b + 4);
        __syncthreads();
        if (k + DEEP < depth) load8(from_a + k + DEEP, next_a), load8(from_b + (long)(k + DEEP) * b_pitch, next_b);
#pragma unroll
        for (int d = 0; d < DEEP; ++d) {
            float x[8], y[8];
            load8(&left[d][ty * 8], x);
            *(float4 *)y = *(float4 *)&right[d][tx * 4], *(float4 *)(y + 4) = *(float4 *)&right[d][64 + tx * 4];
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j) sum[i][j] = fmaf(x[i], y[j], sum[i][j]);  // FAULT
        }
    }
}

__device__ __forceinline__ int row_of(int i) { return threadIdx.x / 16 * 8 + i; }
__device__ __forceinline__ int column_of(int j) { return j / 4 * 64 + threadIdx.x % 16 * 4 + j % 4; }

constexpr int N = 2048;

// Weights of an attention times values, both halves, on the FMA pipe: 17 GFLOP at some 40 TFLOP/s, 0.4 ms. Even the
// older tensor instruction behind plain copies does it in less than 0.1 ms: about 4x.
extern "C" __global__ void __launch_bounds__(256, 2) attention_values_in_floats(
    const half *p, const half *v, float *out) {
    float sum[8][8] = {};
    int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    multiply_strips(p + (long)row * N, N, v + column, N, N, sum);
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) out[(long)(row + row_of(i)) * N + column + column_of(j)] = sum[i][j] / 1024;
}

#include <mma.h>
extern "C" __global__ void __launch_bounds__(256, 2) attention_values_in_floats_fix(
    const half *p, const half *v, float *out) {
    using namespace nvcuda::wmma;
    __shared__ __align__(128) half left[128][40], right[32][136];
    int t = threadIdx.x, warp = t / 32, row = blockIdx.y * 128, column = blockIdx.x * 128;
    int wy = warp / 2 * 32, wx = warp % 2 * 64;
    fragment<accumulator, 16, 16, 16, float> sum[2][4];
#pragma unroll
    for (int i = 0; i < 8; ++i) fill_fragment(sum[i / 4][i % 4], 0.0f);
    uint4 next[4];
    auto load = [&](int k) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            int c = t + i * 256;
            next[i] = *(const uint4 *)(p + (long)(row + c / 4) * N + k + c % 4 * 8);
            next[2 + i] = *(const uint4 *)(v + (long)(k + c / 16) * N + column + c % 16 * 8);
        }
    };
    load(0);
#pragma unroll 1
    for (int k = 0; k < N; k += 32) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            int c = t + i * 256;
            *(uint4 *)&left[c / 4][c % 4 * 8] = next[i];
            *(uint4 *)&right[c / 16][c % 16 * 8] = next[2 + i];
        }
        __syncthreads();
        if (k + 32 < N) load(k + 32);
#pragma unroll
        for (int d = 0; d < 32; d += 16) {
            fragment<matrix_a, 16, 16, 16, half, row_major> x[2];
            fragment<matrix_b, 16, 16, 16, half, row_major> y;
            load_matrix_sync(x[0], &left[wy][d], 40);
            load_matrix_sync(x[1], &left[wy + 16][d], 40);
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                load_matrix_sync(y, &right[d][wx + j * 16], 136);
                mma_sync(sum[0][j], x[0], y, sum[0][j]);
                mma_sync(sum[1][j], x[1], y, sum[1][j]);
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        auto &part = sum[i / 4][i % 4];
        for (int e = 0; e < part.num_elements; ++e) part.x[e] /= 1024;
        store_matrix_sync(out + (long)(row + wy + i / 4 * 16) * N + column + wx + i % 4 * 16, part, N, mem_row_major);
    }
}

CASE(attention_values_in_floats, OUT, (long)N *N, 1, nullptr,
     attention_values_in_floats<<<dim3(16, 16), 256>>>(HALF_A, HALF_B, OUT))
CASE(attention_values_in_floats_fix, OUT, (long)N *N, 1, "attention_values_in_floats",
     attention_values_in_floats_fix<<<dim3(16, 16), 256>>>(HALF_A, HALF_B, OUT))

constexpr int FEW = 768, LONG = 4480, PARTS = 7;

// 768 x 768 sums over 4480 in tiles of 128: 36 blocks for 132 SMs, and one where two fit. The fix cuts the long side
// into seven, 252 blocks. Between 3.5x and 6x.
extern "C" __global__ void __launch_bounds__(256, 2) product_of_few_tiles(const float *a, const float *b, float *out) {
    float sum[8][8] = {};
    int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    multiply_strips(a + (long)row * LONG, LONG, b + column, FEW, LONG, sum);
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) out[(row + row_of(i)) * FEW + column + column_of(j)] = sum[i][j];
}

extern "C" __global__ void __launch_bounds__(256, 2) product_of_few_tiles_fix(
    const float *a, const float *b, float *out) {
    float sum[8][8] = {};
    int row = blockIdx.y * TILE, column = blockIdx.x * TILE, first = blockIdx.z * (LONG / PARTS);
    multiply_strips(a + (long)row * LONG + first, LONG, b + (long)first * FEW + column, FEW, LONG / PARTS, sum);
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) atomicAdd(&out[(row + row_of(i)) * FEW + column + column_of(j)], sum[i][j]);
}

CASE(product_of_few_tiles, SMALL, (long)FEW *FEW, 1, nullptr,
     product_of_few_tiles<<<dim3(6, 6), 256>>>(A, B, SMALL))  // FAULT
CASE(product_of_few_tiles_fix, SMALL, (long)FEW *FEW, 1, "product_of_few_tiles",
     product_of_few_tiles_fix<<<dim3(6, 6, PARTS), 256>>>(A, B, SMALL))

constexpr int SPARSE_ROWS = SMS * 256, NONZEROS = 64, DENSE_ROWS = 32768, DENSE_COLUMNS = 128;
static int *columns;
static half *dense_halves;

__global__ void make_sparse(int *columns_out, const float *dense, half *halves) {
    int stride = gridDim.x * 256;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < SPARSE_ROWS * NONZEROS; i += stride) {
        unsigned h = i * 2654435761u;
        h ^= h >> 15, h *= 0x846ca68bu, h ^= h >> 13;
        columns_out[i] = h % DENSE_ROWS;
    }
    for (int i = blockIdx.x * 256 + threadIdx.x; i < DENSE_ROWS * DENSE_COLUMNS; i += stride)
        halves[i] = __float2half(dense[i]);
}

static void set_sparse() {
    static bool done = [] {
        CHECK(cudaMalloc(&columns, SPARSE_ROWS * NONZEROS * 4));
        CHECK(cudaMalloc(&dense_halves, DENSE_ROWS * DENSE_COLUMNS * 2));
        make_sparse<<<1024, 256>>>(columns, B, dense_halves);
        CHECK(cudaDeviceSynchronize());
        return true;
    }();
    (void)done;
}

__device__ __forceinline__ float4 four(const half *from) {
    uint2 raw = *(const uint2 *)from;
    float2 a = __half22float2(*(half2 *)&raw.x), b = __half22float2(*(half2 *)&raw.y);
    return {a.x, a.y, b.x, b.y};
}

__device__ __forceinline__ float4 four(const float *from) {
    return *(const float4 *)from;  // FAULT
}

template <typename T>
__device__ __forceinline__ void gather_row(const int *column_list, const float *weights, const T *dense, float *out) {
    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float4 sum = {};
#pragma unroll 1
    for (int first = 0; first < NONZEROS; first += 32) {
        int mine = column_list[row * NONZEROS + first + lane];
        float weight = weights[row * NONZEROS + first + lane];
#pragma unroll 8
        for (int i = 0; i < 32; ++i) {
            float w = __shfl_sync(~0u, weight, i);
            float4 v = four(dense + __shfl_sync(~0u, mine, i) * DENSE_COLUMNS + lane * 4);  // FAULT
            sum.x = fmaf(w, v.x, sum.x), sum.y = fmaf(w, v.y, sum.y);
            sum.z = fmaf(w, v.z, sum.z), sum.w = fmaf(w, v.w, sum.w);
        }
    }
    *(float4 *)(out + (long)row * DENSE_COLUMNS + lane * 4) = sum;
}

// A sparse matrix times a dense one of 16 MiB: every entry fetches a row of 512 bytes, 1.1 GB from L2, none twice from
// L1. The table holds small whole numbers: as halves it is half the bytes. About 1.7x.
extern "C" __global__ void __launch_bounds__(256) sparse_rows_of_floats(
    const int *list, const float *w, const float *dense, float *out) {
    gather_row(list, w, dense, out);
}

extern "C" __global__ void __launch_bounds__(256) sparse_rows_of_floats_fix(
    const int *list, const float *w, const half *dense, float *out) {
    gather_row(list, w, dense, out);
}

CASE(sparse_rows_of_floats, OUT, (long)SPARSE_ROWS *DENSE_COLUMNS, 1, nullptr, set_sparse();
     sparse_rows_of_floats<<<SPARSE_ROWS / 8, 256>>>(columns, A, B, OUT))
CASE(sparse_rows_of_floats_fix, OUT, (long)SPARSE_ROWS *DENSE_COLUMNS, 1, "sparse_rows_of_floats", set_sparse();
     sparse_rows_of_floats_fix<<<SPARSE_ROWS / 8, 256>>>(columns, A, dense_halves, OUT))
