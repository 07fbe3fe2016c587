// A block a row, 1024 elements at a time.
#include <cuda_runtime.h>

constexpr int THREADS = 1024;

__global__ void scan_kernel(const int* x, int* y, long long columns) {
    __shared__ int sums[THREADS];
    const int* row = x + blockIdx.x * columns;
    int* out = y + blockIdx.x * columns;
    int carried = 0;
    for (long long start = 0; start < columns; start += THREADS) {
        long long column = start + threadIdx.x;
        sums[threadIdx.x] = column < columns ? row[column] : 0;
        __syncthreads();
        for (int distance = 1; distance < THREADS; distance *= 2) {
            int before = threadIdx.x >= distance ? sums[threadIdx.x - distance] : 0;
            __syncthreads();
            sums[threadIdx.x] += before;
            __syncthreads();
        }
        if (column < columns) out[column] = carried + sums[threadIdx.x];
        carried += sums[THREADS - 1];
        __syncthreads();
    }
}

extern "C" cudaError_t scan(const int* x, int* y, long long rows, long long columns, cudaStream_t stream) {
    scan_kernel<<<static_cast<unsigned>(rows), THREADS, 0, stream>>>(x, y, columns);
    return cudaGetLastError();
}
