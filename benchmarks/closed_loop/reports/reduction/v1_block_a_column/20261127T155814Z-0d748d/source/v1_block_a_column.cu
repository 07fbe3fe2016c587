// A block a column.
#include <cuda_runtime.h>

constexpr int THREADS = 256;

__global__ void sum_columns(const float* x, float* y, long long rows, long long columns) {
    __shared__ float sums[THREADS];
    float sum = 0.0f;
    for (long long row = threadIdx.x; row < rows; row += THREADS) sum += x[row * columns + blockIdx.x];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int distance = 1; distance < THREADS; distance *= 2) {
        if (threadIdx.x % (2 * distance) == 0) sums[threadIdx.x] += sums[threadIdx.x + distance];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = sums[0];
}

extern "C" cudaError_t reduction(const float* x, float* y, long long rows, long long columns, cudaStream_t stream) {
    sum_columns<<<static_cast<unsigned>(columns), THREADS, 0, stream>>>(x, y, rows, columns);
    return cudaGetLastError();
}
