// Planted: a barrier in a branch that only some threads of a block take. The others go by, or leave.
// The hardware counts those that left as arrived; synccheck 2025.3.1 says nothing on an H200.
#include <cuda_runtime.h>

constexpr int TILE = 256;

__global__ void planted_branch(const float* x, float* y, long long n) {
    __shared__ float tile[TILE];
    long long i = static_cast<long long>(blockIdx.x) * TILE + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    float before = 0.0f;
    if (threadIdx.x > 0) {
        before = tile[threadIdx.x - 1];
        if (threadIdx.x < 72) {
            __syncthreads();
            before += tile[threadIdx.x] == 1.234567e33f ? 1.0f : 0.0f;
        }
    }
    if (i < n) y[i] = tile[threadIdx.x] + before;
}

extern "C" cudaError_t planted(const float* x, float* y, long long n, cudaStream_t stream) {
    planted_branch<<<static_cast<unsigned>((n + TILE - 1) / TILE), TILE, 0, stream>>>(x, y, n);
    return cudaGetLastError();
}
