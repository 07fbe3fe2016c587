// A thread an element.
#include <cuda_runtime.h>

constexpr int SIDE = 32;

__global__ void transpose(const float* x, float* y, long long rows, long long columns) {
    long long column = static_cast<long long>(blockIdx.x) * SIDE + threadIdx.x;
    long long row = static_cast<long long>(blockIdx.y) * SIDE + threadIdx.y;
    if (row < rows && column < columns) y[column * rows + row] = x[row * columns + column];
}

extern "C" cudaError_t transposition(const float* x, float* y, long long rows, long long columns, cudaStream_t stream) {
    dim3 grid(static_cast<unsigned>((columns + SIDE - 1) / SIDE), static_cast<unsigned>((rows + SIDE - 1) / SIDE));
    transpose<<<grid, dim3(SIDE, SIDE), 0, stream>>>(x, y, rows, columns);
    return cudaGetLastError();
}
