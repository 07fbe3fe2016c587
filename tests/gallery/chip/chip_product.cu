// A product of floats in five steps of tiling, and one whose sums are doubles: 2,048 x 2,048 results of 1,024 terms.
#include <mma.h>

#include "../gallery.cuh"

constexpr int N = 2048, DEPTH = 1024;  // N is also the distance between rows

// Step 1: a thread a result. Two loads a multiply-add, each a wavefront of L1; four multiply-adds fit in that cycle.
extern "C" __global__ void __launch_bounds__(256) product_naive(const float *__restrict__ a, const float *__restrict__ b,
                                                               float *c) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < DEPTH; ++k) sum = fmaf(a[y * N + k], b[k * N + x], sum);  // FAULT
    c[y * N + x] = sum;
}

// Steps 2 and 3: tiles in shared memory, still a thread a result: more than one wavefront a multiply-add.
template <int T>
__device__ __forceinline__ void shared_tile(const float *__restrict__ a, const float *__restrict__ b, float *c) {
    __shared__ float left[T][T], right[T][T];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * T + tx, y = blockIdx.y * T + ty;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < DEPTH; k += T) {
        left[ty][tx] = a[y * N + k + tx];
        right[ty][tx] = b[(k + ty) * N + x];
        __syncthreads();
#pragma unroll
        for (int d = 0; d < T; ++d) sum = fmaf(left[ty][d], right[d][tx], sum);  // FAULT
        __syncthreads();
    }
    c[y * N + x] = sum;
}

extern "C" __global__ void __launch_bounds__(256) product_tile_16(const float *a, const float *b, float *c) {
    shared_tile<16>(a, b, c);
}

extern "C" __global__ void __launch_bounds__(1024) product_tile_32(const float *a, const float *b, float *c) {
    shared_tile<32>(a, b, c);
}

// Steps 4 and 5: T x T results a thread, 16 T x 16 T a block; the next operands come meanwhile.
template <int T, typename Sum>
__device__ __forceinline__ void register_tile(const float *__restrict__ a, const float *__restrict__ b, float *c) {
    constexpr int SIDE = 16 * T, DEEP = 8, LOADS = SIDE * DEEP / 256, PARTS = T / 4;
    __shared__ float left[DEEP][SIDE + 4], right[DEEP][SIDE];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    const float *rows = a + (blockIdx.y * SIDE + threadIdx.x / DEEP) * N + threadIdx.x % DEEP;
    const float *columns = b + threadIdx.x / SIDE * N + blockIdx.x * SIDE + threadIdx.x % SIDE;
    Sum sums[T][T] = {};
    float la[LOADS], rb[LOADS];
#pragma unroll
    for (int q = 0; q < LOADS; ++q) la[q] = rows[q * 32 * N], rb[q] = columns[q * (256 / SIDE) * N];
#pragma unroll 1
    for (int k = 0; k < DEPTH; k += DEEP) {
        __syncthreads();
#pragma unroll
        for (int q = 0; q < LOADS; ++q) {
            left[threadIdx.x % DEEP][threadIdx.x / DEEP + q * 32] = la[q];
            right[threadIdx.x / SIDE + q * (256 / SIDE)][threadIdx.x % SIDE] = rb[q];
        }
        __syncthreads();
        rows += DEEP, columns += DEEP * N;
        if (k + DEEP < DEPTH) {
#pragma unroll
            for (int q = 0; q < LOADS; ++q) la[q] = rows[q * 32 * N], rb[q] = columns[q * (256 / SIDE) * N];
        }
#pragma unroll
        for (int d = 0; d < DEEP; ++d) {
            float4 l[PARTS], r[PARTS];
#pragma unroll
            for (int p = 0; p < PARTS; ++p) {
                l[p] = *(float4 *)&left[d][p * 64 + ty * 4];   // FAULT
                r[p] = *(float4 *)&right[d][p * 64 + tx * 4];  // FAULT
            }
#pragma unroll
            for (int m = 0; m < T; ++m)
#pragma unroll
                for (int n = 0; n < T; ++n)
                    sums[m][n] = fma(Sum(((float *)l)[m]), Sum(((float *)r)[n]), sums[m][n]);  // FAULT
        }
    }
#pragma unroll
    for (int m = 0; m < T; ++m)
#pragma unroll
        for (int n = 0; n < T; n += 4) {
            int y = blockIdx.y * SIDE + m / 4 * 64 + ty * 4 + m % 4, x = blockIdx.x * SIDE + n / 4 * 64 + tx * 4;
            *(float4 *)(c + y * N + x) = make_float4(sums[m][n], sums[m][n + 1], sums[m][n + 2], sums[m][n + 3]);
        }
}

extern "C" __global__ void __launch_bounds__(256) product_register_4(const float *a, const float *b, float *c) {
    register_tile<4, float>(a, b, c);
}

extern "C" __global__ void __launch_bounds__(256, 2) product_register_8(const float *a, const float *b, float *c) {
    register_tile<8, float>(a, b, c);
}

// Doubles to be on the safe side: half the rate, and each operand is converted for 16 results, 16 conversions a cycle.
extern "C" __global__ void __launch_bounds__(256) product_double_sums(const float *a, const float *b, float *c) {
    register_tile<4, double>(a, b, c);
}

CASE(product_naive, OUT, N *N, 1, nullptr, product_naive<<<dim3(N / 32, N / 8), dim3(32, 8)>>>(A, B, OUT))
CASE(product_tile_16, OUT, N *N, 1, "product_naive",
     product_tile_16<<<dim3(N / 16, N / 16), dim3(16, 16)>>>(A, B, OUT))
CASE(product_tile_32, OUT, N *N, 1, "product_naive",
     product_tile_32<<<dim3(N / 32, N / 32), dim3(32, 32)>>>(A, B, OUT))
CASE(product_register_4, OUT, N *N, 1, "product_naive",
     product_register_4<<<dim3(N / 64, N / 64), 256>>>(A, B, OUT))
CASE(product_register_8, OUT, N *N, 1, "product_naive",
     product_register_8<<<dim3(N / 128, N / 128), 256>>>(A, B, OUT))
CASE(product_double_sums, OUT, N *N, 1, "product_naive",
     product_double_sums<<<dim3(N / 64, N / 64), 256>>>(A, B, OUT))

// ---- bytes: four products an instruction, where tensor cores take bytes as they are

using namespace nvcuda;

// Rows of `a` and of `b`, 1,024 bytes each, that ROWS holds; 4 x 4 results a thread.
extern "C" __global__ void __launch_bounds__(256) product_bytes_by_dp4a(const unsigned *__restrict__ a,
                                                                       const unsigned *__restrict__ b, unsigned *c) {
    __shared__ unsigned left[16][68], right[16][68];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16, words = DEPTH / 4;
    unsigned sums[4][4] = {};
#pragma unroll 1
    for (int k = 0; k < words; k += 16) {
        __syncthreads();
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            left[tx][ty + q * 16] = a[(blockIdx.y * 64 + ty + q * 16) * words + k + tx];
            right[tx][ty + q * 16] = b[(blockIdx.x * 64 + ty + q * 16) * words + k + tx];
        }
        __syncthreads();
#pragma unroll
        for (int d = 0; d < 16; ++d) {
            uint4 l = *(uint4 *)&left[d][ty * 4], r = *(uint4 *)&right[d][tx * 4];
#pragma unroll
            for (int m = 0; m < 4; ++m)
#pragma unroll
                for (int n = 0; n < 4; ++n)
                    sums[m][n] = __dp4a(((unsigned *)&l)[m], ((unsigned *)&r)[n], sums[m][n]);  // FAULT
        }
    }
#pragma unroll
    for (int m = 0; m < 4; ++m)
        *(uint4 *)(c + (blockIdx.y * 64 + ty * 4 + m) * N + blockIdx.x * 64 + tx * 4) =
            make_uint4(sums[m][0], sums[m][1], sums[m][2], sums[m][3]);
}

using Byte = unsigned char;

extern "C" __global__ void __launch_bounds__(256) product_bytes_by_dp4a_fix(const Byte *__restrict__ a,
                                                                           const Byte *__restrict__ b, int *c) {
    using Rows = wmma::fragment<wmma::matrix_a, 16, 16, 16, Byte, wmma::row_major>;
    using Columns = wmma::fragment<wmma::matrix_b, 16, 16, 16, Byte, wmma::col_major>;
    using Sums = wmma::fragment<wmma::accumulator, 16, 16, 16, int>;
    __shared__ alignas(32) Byte left[128][80], right[128][80];
    int warp = threadIdx.x / 32, y = warp / 4 * 64, x = warp % 4 * 32;
    Sums sums[4][2];
    for (auto &row : sums)
        for (Sums &one : row) wmma::fill_fragment(one, 0);
#pragma unroll 1
    for (int k = 0; k < DEPTH; k += 64) {
        __syncthreads();
#pragma unroll
        for (int q = 0; q < 2; ++q) {
            int row = threadIdx.x / 4 + q * 64, column = threadIdx.x % 4 * 16;
            *(int4 *)&left[row][column] = *(const int4 *)(a + (blockIdx.y * 128 + row) * DEPTH + k + column);
            *(int4 *)&right[row][column] = *(const int4 *)(b + (blockIdx.x * 128 + row) * DEPTH + k + column);
        }
        __syncthreads();
#pragma unroll
        for (int d = 0; d < 64; d += 16) {
            Rows l[4];
            Columns r[2];
            for (int m = 0; m < 4; ++m) wmma::load_matrix_sync(l[m], &left[y + m * 16][d], 80);
            for (int n = 0; n < 2; ++n) wmma::load_matrix_sync(r[n], &right[x + n * 16][d], 80);
            for (int m = 0; m < 4; ++m)
                for (int n = 0; n < 2; ++n) wmma::mma_sync(sums[m][n], l[m], r[n], sums[m][n]);
        }
    }
    for (int m = 0; m < 4; ++m)
        for (int n = 0; n < 2; ++n)
            wmma::store_matrix_sync(c + (blockIdx.y * 128 + y + m * 16) * N + blockIdx.x * 128 + x + n * 16, sums[m][n],
                                    N, wmma::mem_row_major);
}

CASE(product_bytes_by_dp4a, OUT, N *N, 1, nullptr,
     product_bytes_by_dp4a<<<dim3(N / 64, N / 64), 256>>>(ROWS, ROWS + N * DEPTH / 4, (unsigned *)OUT))
CASE(product_bytes_by_dp4a_fix, OUT, N *N, 1, "product_bytes_by_dp4a",
     product_bytes_by_dp4a_fix<<<dim3(N / 128, N / 128), 256>>>((Byte *)ROWS, (Byte *)(ROWS + N * DEPTH / 4),
                                                               (int *)OUT))
