// A thread a result.
#include <cuda_runtime.h>

constexpr int THREADS = 128;

__global__ void convolution_kernel(const float* x, const float* w, float* y, long long channels, long long filters,
                                   long long height, long long width, long long total) {
    long long index = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
    if (index >= total) return;
    long long column = index % width, row = index / width % height;
    long long filter = index / (width * height) % filters, image = index / (width * height * filters);
    float sum = 0.0f;
    for (long long channel = 0; channel < channels; ++channel) {
        for (int dy = -1; dy <= 1; ++dy) {
            for (int dx = -1; dx <= 1; ++dx) {
                long long r = row + dy, c = column + dx;
                if (r < 0 || r >= height || c < 0 || c >= width) continue;
                float pixel = x[((image * channels + channel) * height + r) * width + c];
                sum += pixel * w[(filter * channels + channel) * 9 + (dy + 1) * 3 + dx + 1];
            }
        }
    }
    y[index] = sum;
}

extern "C" cudaError_t convolution(const float* x, const float* w, float* y, long long batch, long long channels,
                                   long long filters, long long height, long long width, cudaStream_t stream) {
    long long total = batch * filters * height * width;
    unsigned blocks = static_cast<unsigned>((total + THREADS - 1) / THREADS);
    convolution_kernel<<<blocks, THREADS, 0, stream>>>(x, w, y, channels, filters, height, width, total);
    return cudaGetLastError();
}
