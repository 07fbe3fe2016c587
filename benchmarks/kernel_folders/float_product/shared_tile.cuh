// A thread a result, from T x T tiles of both operands in shared memory.
#pragma once
#include "product.cuh"

template <int T>
__global__ void __launch_bounds__(T *T) shared_tile(Product p) {
    __shared__ float left[T][T], right[T][T];
    const int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * T + tx, y = blockIdx.y * T + ty;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < p.k; k += T) {
        left[ty][tx] = p.a[static_cast<size_t>(y) * p.k + k + tx];
        right[ty][tx] = p.b[static_cast<size_t>(k + ty) * p.n + x];
        __syncthreads();
#pragma unroll
        for (int d = 0; d < T; ++d) sum = fmaf(left[ty][d], right[d][tx], sum);
        __syncthreads();
    }
    p.c[static_cast<size_t>(y) * p.n + x] = sum;
}

template <int T>
cudaError_t launch_shared_tile(const Product &p, cudaStream_t stream) {
    if (!fits(p, T, T, T)) return cudaErrorInvalidValue;
    shared_tile<T><<<dim3(p.n / T, p.m / T), dim3(T, T), 0, stream>>>(p);
    return cudaGetLastError();
}
