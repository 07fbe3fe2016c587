// Gauss-Jordan in place, a block a matrix, a thread a row.
#include <cuda_runtime.h>

__global__ void invert(const float* x, float* y, long long n) {
    const float* from = x + blockIdx.x * n * n;
    float* a = y + blockIdx.x * n * n;
    long long row = threadIdx.x;
    for (long long column = 0; column < n; ++column) a[row * n + column] = from[row * n + column];
    __syncthreads();
    for (long long pivot = 0; pivot < n; ++pivot) {
        if (row == pivot) {
            float scale = 1.0f / a[pivot * n + pivot];
            a[pivot * n + pivot] = 1.0f;
            for (long long column = 0; column < n; ++column) a[pivot * n + column] *= scale;
        }
        __syncthreads();
        if (row != pivot) {
            float factor = a[row * n + pivot];
            a[row * n + pivot] = 0.0f;
            for (long long column = 0; column < n; ++column) a[row * n + column] -= factor * a[pivot * n + column];
        }
        __syncthreads();
    }
}

extern "C" cudaError_t inverse(const float* x, float* y, long long batch, long long n, cudaStream_t stream) {
    if (n > 1024) return cudaErrorInvalidValue;
    invert<<<static_cast<unsigned>(batch), static_cast<unsigned>(n), 0, stream>>>(x, y, n);
    return cudaGetLastError();
}
