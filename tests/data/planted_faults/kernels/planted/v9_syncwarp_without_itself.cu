// Planted: the lanes of the upper half of a warp wait with a mask that names the lower half alone.
#include <cuda_runtime.h>

constexpr int TILE = 256;

__global__ void planted_mask(const float* x, float* y, long long n) {
    __shared__ float tile[TILE];
    long long i = static_cast<long long>(blockIdx.x) * TILE + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    float before = threadIdx.x > 0 ? tile[threadIdx.x - 1] : 0.0f;
    __syncwarp(0x0000ffffu);
    if (i < n) y[i] = tile[threadIdx.x] + before;
}

extern "C" cudaError_t planted(const float* x, float* y, long long n, cudaStream_t stream) {
    planted_mask<<<static_cast<unsigned>((n + TILE - 1) / TILE), TILE, 0, stream>>>(x, y, n);
    return cudaGetLastError();
}
