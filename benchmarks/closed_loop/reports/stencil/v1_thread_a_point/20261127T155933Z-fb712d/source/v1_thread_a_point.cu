// A thread a point.
#include <cuda_runtime.h>

constexpr int THREADS = 64;

__global__ void stencil_kernel(const float* x, float* y, long long depth, long long height, long long width) {
    long long z = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
    if (z >= depth) return;
    long long column = blockIdx.y, row = blockIdx.z, plane = height * width;
    long long at = z * plane + row * width + column;
    bool border = z == 0 || z == depth - 1 || row == 0 || row == height - 1 || column == 0 || column == width - 1;
    if (border) {
        y[at] = x[at];
        return;
    }
    float around = x[at - plane] + x[at + plane] + x[at - width] + x[at + width] + x[at - 1] + x[at + 1];
    y[at] = x[at] + (around - 6.0f * x[at]) / 8.0f;
}

extern "C" cudaError_t stencil(const float* x, float* y, long long depth, long long height, long long width,
                               cudaStream_t stream) {
    dim3 grid(static_cast<unsigned>((depth + THREADS - 1) / THREADS), static_cast<unsigned>(width),
              static_cast<unsigned>(height));
    stencil_kernel<<<grid, THREADS, 0, stream>>>(x, y, depth, height, width);
    return cudaGetLastError();
}
