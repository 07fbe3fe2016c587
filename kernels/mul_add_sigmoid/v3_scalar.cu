// Changes: all three steps in one CUDA kernel, an element a thread; exponential and division as C has them.
//
// expected: `low-bytes-in-flight`, less so than add_relu: three loads of 4 bytes a thread are 24 KB on an SM where DRAM
//   wants about twice that. 0.85 to 0.92 of the copy at n26. Against v0: 1.7 to 1.8 times, where the bytes promise 2.
// measured: 284 us at n26, 0.90 of the copy, 1.76 times v0.
#include <climits>
#include <cuda_runtime.h>

constexpr int THREADS = 256;

// Not exp(x) / (1 + exp(x)): that is inf / inf from 89 on.
__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

__global__ void __launch_bounds__(THREADS)
    chain_scalar(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c,
                 float* __restrict__ out, long long n) {
    const long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
    if (i < n) out[i] = sigmoid(fmaf(a[i], b[i], c[i]));
}

extern "C" cudaError_t mul_add_sigmoid(const float* a, const float* b, const float* c, float* out, long long n,
                                       cudaStream_t stream) {
    if (n < 0) return cudaErrorInvalidValue;
    if (n == 0) return cudaSuccess;
    const long long blocks = (n - 1) / THREADS + 1;
    if (blocks > INT_MAX) return cudaErrorInvalidValue;
    chain_scalar<<<blocks, THREADS, 0, stream>>>(a, b, c, out, n);
    return cudaGetLastError();
}
