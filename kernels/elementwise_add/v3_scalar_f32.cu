// Changes: plain CUDA C++, an element a thread.
// dtypes: float32
//
// expected: `low-bytes-in-flight`. Requests are perfectly coalesced (4 sectors each), but 2048 threads with two loads of
//   4 bytes keep 16 KB in flight on an SM where DRAM wants about three times that. 0.85 of the copy at 2^26.
// measured: 230 us, 0.82 of the copy.
#include <climits>
#include <cuda_runtime.h>

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS)
    add_scalar(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, long long n) {
    const long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

extern "C" cudaError_t elementwise_add(const float* a, const float* b, float* c, long long n, long long width,
                                       long long /*block*/, cudaStream_t stream) {
    if (n < 0 || width != 4) return cudaErrorInvalidValue;
    if (n == 0) return cudaSuccess;
    const long long blocks = (n - 1) / THREADS + 1;
    if (blocks > INT_MAX) return cudaErrorInvalidValue;
    add_scalar<<<blocks, THREADS, 0, stream>>>(a, b, c, n);
    return cudaGetLastError();
}
