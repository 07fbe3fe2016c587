// Changes: four elements a thread in one 128-bit access. The last thread takes what is left one by one.
// dtypes: float32
//
// expected: `at-dram-roofline`. 2048 threads with two loads of 16 bytes keep 64 KB in flight on an SM. 1.00 to 1.02 of
//   the copy at 2^26, level with v0, and 1.15 times v3.
// measured: 183.6 us, 1.03 of the copy and 1.25 times v3; not to be told from v0 and v2.
#include <climits>
#include <cuda_runtime.h>

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS)
    add_x4(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, long long n) {
    const long long i = (static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x) * 4;
    if (i + 4 <= n) {
        const float4 x = *reinterpret_cast<const float4*>(a + i), y = *reinterpret_cast<const float4*>(b + i);
        *reinterpret_cast<float4*>(c + i) = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    } else {
#pragma unroll 1  // once a grid; unrolled it takes registers from every thread
        for (long long j = i; j < n; ++j) c[j] = a[j] + b[j];
    }
}

extern "C" cudaError_t elementwise_add(const float* a, const float* b, float* c, long long n, long long width,
                                       long long /*block*/, cudaStream_t stream) {
    if (n < 0 || width != 4) return cudaErrorInvalidValue;
    if (n == 0) return cudaSuccess;
    const size_t addresses = reinterpret_cast<size_t>(a) | reinterpret_cast<size_t>(b) | reinterpret_cast<size_t>(c);
    if (addresses % 16) return cudaErrorMisalignedAddress;
    const long long blocks = (n - 1) / (THREADS * 4) + 1;
    if (blocks > INT_MAX) return cudaErrorInvalidValue;
    add_x4<<<blocks, THREADS, 0, stream>>>(a, b, c, n);
    return cudaGetLastError();
}
