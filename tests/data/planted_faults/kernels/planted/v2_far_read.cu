// Planted: the last thread reads 1 MB behind the end of x, beyond the guard zones that check puts around tensors.
#include <cuda_runtime.h>

constexpr int TILE = 256;
constexpr long long FAR = 1 << 18;

__global__ void planted_far(const float* x, float* y, long long n) {
    __shared__ float tile[TILE];
    long long i = static_cast<long long>(blockIdx.x) * TILE + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    float before = threadIdx.x > 0 ? tile[threadIdx.x - 1] : 0.0f;
    if (i == n - 1) {
        float far = x[i + FAR];
        before += far == 1.234567e33f ? 1.0f : 0.0f;
    }
    if (i < n) y[i] = tile[threadIdx.x] + before;
}

extern "C" cudaError_t planted(const float* x, float* y, long long n, cudaStream_t stream) {
    planted_far<<<static_cast<unsigned>((n + TILE - 1) / TILE), TILE, 0, stream>>>(x, y, n);
    return cudaGetLastError();
}
