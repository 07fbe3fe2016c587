// A thread a row.
#include <cuda_runtime.h>

constexpr int THREADS = 256;

__global__ void sparse_kernel(const int* start, const int* column, const float* value, const float* x, float* y,
                              long long rows) {
    long long row = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = start[row]; i < start[row + 1]; ++i) sum += value[i] * x[column[i]];
    y[row] = sum;
}

extern "C" cudaError_t sparse_product(const int* start, const int* column, const float* value, const float* x, float* y,
                                      long long rows, long long columns, long long entries, cudaStream_t stream) {
    unsigned blocks = static_cast<unsigned>((rows + THREADS - 1) / THREADS);
    sparse_kernel<<<blocks, THREADS, 0, stream>>>(start, column, value, x, y, rows);
    return cudaGetLastError();
}
