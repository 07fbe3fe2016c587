// Planted: every other block takes a branch in which the barrier is missing.
#include <cuda_runtime.h>

constexpr int TILE = 256;

__global__ void planted_half(const float* x, float* y, long long n) {
    __shared__ float tile[TILE];
    long long i = static_cast<long long>(blockIdx.x) * TILE + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0.0f;
    if (blockIdx.x % 2 == 0) {
        __syncthreads();
    } else {
        __nanosleep(20000);
    }
    float before = threadIdx.x > 0 ? *(volatile float*)&tile[threadIdx.x - 1] : 0.0f;
    if (i < n) y[i] = tile[threadIdx.x] + before;
}

extern "C" cudaError_t planted(const float* x, float* y, long long n, cudaStream_t stream) {
    planted_half<<<static_cast<unsigned>((n + TILE - 1) / TILE), TILE, 0, stream>>>(x, y, n);
    return cudaGetLastError();
}
