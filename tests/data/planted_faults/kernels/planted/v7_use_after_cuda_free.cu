// Planted: the scratch buffer is freed, by cudaFree, before the kernel that reads it.
#include <cuda_runtime.h>

constexpr int TILE = 256;

__global__ void planted_fill(const float* x, float* scratch, long long n) {
    long long i = static_cast<long long>(blockIdx.x) * TILE + threadIdx.x;
    if (i < n) scratch[i] = x[i];
}

__global__ void planted_gone(const float* scratch, float* y, long long n) {
    long long i = static_cast<long long>(blockIdx.x) * TILE + threadIdx.x;
    if (i >= n) return;
    float before = threadIdx.x > 0 ? scratch[i - 1] : 0.0f;
    y[i] = scratch[i] + before;
}

extern "C" cudaError_t planted(const float* x, float* y, long long n, cudaStream_t stream) {
    float* scratch = nullptr;
    if (cudaError_t error = cudaMalloc(&scratch, n * sizeof(float))) return error;
    unsigned blocks = static_cast<unsigned>((n + TILE - 1) / TILE);
    planted_fill<<<blocks, TILE, 0, stream>>>(x, scratch, n);
    if (cudaError_t error = cudaFree(scratch)) return error;
    planted_gone<<<blocks, TILE, 0, stream>>>(scratch, y, n);
    return cudaGetLastError();
}
