// A block a row.
#include <cuda_runtime.h>

constexpr int THREADS = 128;

__device__ float sum_of_block(float own, float* shared) {
    __syncthreads();
    shared[threadIdx.x] = own;
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int i = 0; i < THREADS; ++i) sum += shared[i];
        shared[0] = sum;
    }
    __syncthreads();
    return shared[0];
}

__global__ void normalise(const float* x, const float* weight, const float* bias, float* y, long long columns) {
    __shared__ float shared[THREADS];
    const float* row = x + blockIdx.x * columns;
    float own = 0.0f;
    for (long long i = threadIdx.x; i < columns; i += THREADS) own += row[i];
    float mean = sum_of_block(own, shared) / columns;
    own = 0.0f;
    for (long long i = threadIdx.x; i < columns; i += THREADS) own += (row[i] - mean) * (row[i] - mean);
    float variance = sum_of_block(own, shared) / columns;
    for (long long i = threadIdx.x; i < columns; i += THREADS) {
        y[blockIdx.x * columns + i] = (row[i] - mean) / sqrtf(variance + 1e-5f) * weight[i] + bias[i];
    }
}

extern "C" cudaError_t normalisation(const float* x, const float* weight, const float* bias, float* y, long long rows,
                                     long long columns, cudaStream_t stream) {
    normalise<<<static_cast<unsigned>(rows), THREADS, 0, stream>>>(x, weight, bias, y, columns);
    return cudaGetLastError();
}
