// Planted: two floats at once from an odd index, which is no multiple of 8 bytes.
#include <cuda_runtime.h>

constexpr int TILE = 256;

__global__ void planted_misaligned(const float* x, float* y, long long n) {
    long long i = static_cast<long long>(blockIdx.x) * TILE + threadIdx.x;
    if (i >= n) return;
    float own = x[i], before = 0.0f;
    if (threadIdx.x > 0) {
        float2 both = *reinterpret_cast<const float2*>(x + i - 1);
        before = both.x;
        own = both.y;
    }
    y[i] = own + before;
}

extern "C" cudaError_t planted(const float* x, float* y, long long n, cudaStream_t stream) {
    planted_misaligned<<<static_cast<unsigned>((n + TILE - 1) / TILE), TILE, 0, stream>>>(x, y, n);
    return cudaGetLastError();
}
