// T x T results a thread, 16 T x 16 T a block of 256 threads; the next operands come from global memory meanwhile.
#pragma once
#include "product.cuh"

constexpr int THREADS = 256, ACROSS = 16, DEEP = 8;

template <int T>
__global__ void __launch_bounds__(THREADS, 2) register_tile(Product p) {
    constexpr int SIDE = ACROSS * T, LOADS = SIDE * DEEP / THREADS, QUADS = T / 4;
    __shared__ float left[DEEP][SIDE + 4], right[DEEP][SIDE];
    const int tx = threadIdx.x % ACROSS, ty = threadIdx.x / ACROSS, thread = threadIdx.x;
    const float *rows = p.a + static_cast<size_t>(blockIdx.y * SIDE + thread / DEEP) * p.k + thread % DEEP;
    const float *columns = p.b + static_cast<size_t>(thread / SIDE) * p.n + blockIdx.x * SIDE + thread % SIDE;
    const size_t row_step = static_cast<size_t>(THREADS / DEEP) * p.k;
    float sums[T][T] = {}, from_a[LOADS], from_b[LOADS];
#pragma unroll
    for (int q = 0; q < LOADS; ++q) {
        from_a[q] = rows[q * row_step];
        from_b[q] = columns[static_cast<size_t>(q) * (THREADS / SIDE) * p.n];
    }
#pragma unroll 1
    for (int k = 0; k < p.k; k += DEEP) {
        __syncthreads();
#pragma unroll
        for (int q = 0; q < LOADS; ++q) {
            left[thread % DEEP][thread / DEEP + q * (THREADS / DEEP)] = from_a[q];
            right[thread / SIDE + q * (THREADS / SIDE)][thread % SIDE] = from_b[q];
        }
        __syncthreads();
        rows += DEEP, columns += static_cast<size_t>(DEEP) * p.n;
        if (k + DEEP < p.k) {
#pragma unroll
            for (int q = 0; q < LOADS; ++q) {
                from_a[q] = rows[q * row_step];
                from_b[q] = columns[static_cast<size_t>(q) * (THREADS / SIDE) * p.n];
            }
        }
#pragma unroll
        for (int d = 0; d < DEEP; ++d) {
            float l[T], r[T];
#pragma unroll
            for (int q = 0; q < QUADS; ++q) {
                *reinterpret_cast<float4 *>(l + 4 * q) = *reinterpret_cast<float4 *>(&left[d][q * 64 + ty * 4]);
                *reinterpret_cast<float4 *>(r + 4 * q) = *reinterpret_cast<float4 *>(&right[d][q * 64 + tx * 4]);
            }
#pragma unroll
            for (int i = 0; i < T; ++i)
#pragma unroll
                for (int j = 0; j < T; ++j) sums[i][j] = fmaf(l[i], r[j], sums[i][j]);
        }
    }
#pragma unroll
    for (int i = 0; i < T; ++i)
#pragma unroll
        for (int j = 0; j < T; j += 4) {
            const int y = blockIdx.y * SIDE + i / 4 * 64 + ty * 4 + i % 4, x = blockIdx.x * SIDE + j / 4 * 64 + tx * 4;
            *reinterpret_cast<float4 *>(p.c + static_cast<size_t>(y) * p.n + x) =
                make_float4(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
        }
}

template <int T>
cudaError_t launch_register_tile(const Product &p, cudaStream_t stream) {
    constexpr int SIDE = ACROSS * T;
    static_assert(THREADS % SIDE == 0 && SIDE * DEEP % THREADS == 0 && T % 4 == 0, "a tile is whole loads and quads");
    if (!fits(p, SIDE, SIDE, DEEP)) return cudaErrorInvalidValue;
    register_tile<T><<<dim3(p.n / SIDE, p.m / SIDE), THREADS, 0, stream>>>(p);
    return cudaGetLastError();
}
