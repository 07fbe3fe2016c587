// A thread a byte.
#include <cuda_runtime.h>

constexpr int THREADS = 256, VALUES = 256;

__global__ void clear(int* counts) {
    counts[threadIdx.x] = 0;
}

__global__ void count(const unsigned char* data, int* counts, long long n) {
    long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
    if (i < n) atomicAdd(&counts[data[i]], 1);
}

extern "C" cudaError_t histogram(const unsigned char* data, int* counts, long long n, cudaStream_t stream) {
    clear<<<1, VALUES, 0, stream>>>(counts);
    if (n > 0) count<<<static_cast<unsigned>((n + THREADS - 1) / THREADS), THREADS, 0, stream>>>(data, counts, n);
    return cudaGetLastError();
}
