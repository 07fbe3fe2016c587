// A block a row, a thread a byte of it at a time.
#include <cuda_runtime.h>

constexpr int THREADS = 128, GROUP = 64;

__global__ void multiply(const unsigned char* packed, const float* scale, const float* x, float* y, long long columns) {
    __shared__ float sums[THREADS];
    long long row = blockIdx.x, bytes = columns / 2, groups = columns / GROUP;
    float sum = 0.0f;
    for (long long i = threadIdx.x; i < bytes; i += THREADS) {
        int both = packed[row * bytes + i];
        float factor = scale[row * groups + 2 * i / GROUP];
        sum += ((both & 15) - 8) * factor * x[2 * i];
        sum += ((both >> 4) - 8) * factor * x[2 * i + 1];
    }
    sums[threadIdx.x] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) y[row] = sums[0];
}

extern "C" cudaError_t quantised_product(const unsigned char* packed, const float* scale, const float* x, float* y,
                                         long long rows, long long columns, cudaStream_t stream) {
    if (columns % GROUP != 0) return cudaErrorInvalidValue;
    multiply<<<static_cast<unsigned>(rows), THREADS, 0, stream>>>(packed, scale, x, y, columns);
    return cudaGetLastError();
}
