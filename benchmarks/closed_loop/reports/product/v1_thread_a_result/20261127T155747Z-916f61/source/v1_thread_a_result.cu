// A thread a result.
#include <cuda_runtime.h>

constexpr int SIDE = 16;

__global__ void product_kernel(const float* a, const float* b, float* c, long long m, long long n, long long k) {
    long long row = static_cast<long long>(blockIdx.x) * SIDE + threadIdx.x;
    long long column = static_cast<long long>(blockIdx.y) * SIDE + threadIdx.y;
    if (row >= m || column >= n) return;
    float sum = 0.0f;
    for (long long i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}

extern "C" cudaError_t product(const float* a, const float* b, float* c, long long m, long long n, long long k,
                               cudaStream_t stream) {
    dim3 grid(static_cast<unsigned>((m + SIDE - 1) / SIDE), static_cast<unsigned>((n + SIDE - 1) / SIDE));
    product_kernel<<<grid, dim3(SIDE, SIDE), 0, stream>>>(a, b, c, m, n, k);
    return cudaGetLastError();
}
