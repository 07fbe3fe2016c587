// Changes: float16, an element a thread.
// dtypes: float16
// parent: v3
//
// expected: `low-bytes-in-flight`. A request is 64 contiguous bytes, 2 sectors; 2048 threads with two loads of 2 bytes
//   keep 8 KB in flight on an SM, a sixth of what DRAM wants. 0.55 to 0.65 of the copy at 2^26.
// measured: 190 us, 0.50 of the copy: worse than predicted.
#include <climits>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS)
    add_scalar(const __half* __restrict__ a, const __half* __restrict__ b, __half* __restrict__ c, long long n) {
    const long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
    if (i < n) c[i] = __hadd(a[i], b[i]);
}

extern "C" cudaError_t elementwise_add(const __half* a, const __half* b, __half* c, long long n, long long width,
                                       long long /*block*/, cudaStream_t stream) {
    if (n < 0 || width != 2) return cudaErrorInvalidValue;
    if (n == 0) return cudaSuccess;
    const long long blocks = (n - 1) / THREADS + 1;
    if (blocks > INT_MAX) return cudaErrorInvalidValue;
    add_scalar<<<blocks, THREADS, 0, stream>>>(a, b, c, n);
    return cudaGetLastError();
}
