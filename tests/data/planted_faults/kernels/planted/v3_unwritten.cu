// Planted: a scratch buffer of which the last element is never written, and is read.
#include <cuda_runtime.h>

constexpr int TILE = 256;

__global__ void planted_fill(const float* x, float* scratch, long long n) {
    long long i = static_cast<long long>(blockIdx.x) * TILE + threadIdx.x;
    if (i < n) scratch[i] = x[i];
}

__global__ void planted_unwritten(const float* scratch, float* y, long long n) {
    long long i = static_cast<long long>(blockIdx.x) * TILE + threadIdx.x;
    if (i >= n) return;
    float before = threadIdx.x > 0 ? scratch[i - 1] : 0.0f;
    float after = scratch[i + 1];
    before += after == 1.234567e33f ? 1.0f : 0.0f;
    y[i] = scratch[i] + before;
}

extern "C" cudaError_t planted(const float* x, float* y, long long n, cudaStream_t stream) {
    float* scratch = nullptr;
    if (cudaError_t error = cudaMallocAsync(&scratch, (n + 1) * sizeof(float), stream)) return error;
    unsigned blocks = static_cast<unsigned>((n + TILE - 1) / TILE);
    planted_fill<<<blocks, TILE, 0, stream>>>(x, scratch, n);
    planted_unwritten<<<blocks, TILE, 0, stream>>>(scratch, y, n);
    cudaError_t error = cudaGetLastError();
    cudaError_t freed = cudaFreeAsync(scratch, stream);
    return error ? error : freed;
}
