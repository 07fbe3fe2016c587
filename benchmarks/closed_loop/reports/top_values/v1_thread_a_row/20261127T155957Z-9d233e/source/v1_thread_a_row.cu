// A thread a row.
#include <cuda_runtime.h>

constexpr int THREADS = 128, KEPT = 8;

__global__ void top_kernel(const float* x, float* y, long long rows, long long columns) {
    long long row = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
    if (row >= rows) return;
    float best[KEPT];
    for (int i = 0; i < KEPT; ++i) best[i] = -INFINITY;
    for (long long column = 0; column < columns; ++column) {
        float value = x[row * columns + column];
        int place = KEPT;
        while (place > 0 && best[place - 1] < value) --place;
        for (int i = KEPT - 1; i > place; --i) best[i] = best[i - 1];
        if (place < KEPT) best[place] = value;
    }
    for (int i = 0; i < KEPT; ++i) y[row * KEPT + i] = best[i];
}

extern "C" cudaError_t top_values(const float* x, float* y, long long rows, long long columns, cudaStream_t stream) {
    unsigned blocks = static_cast<unsigned>((rows + THREADS - 1) / THREADS);
    top_kernel<<<blocks, THREADS, 0, stream>>>(x, y, rows, columns);
    return cudaGetLastError();
}
