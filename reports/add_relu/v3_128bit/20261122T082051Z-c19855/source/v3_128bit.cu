// Changes: four elements a thread in one 128-bit access. The last thread takes what is left one by one.
//
// expected: `at-dram-roofline`. 2048 threads with two loads of 16 bytes keep 64 KB in flight on an SM. 1.00 to 1.03 of
//   the copy at n26, level with v1, 1.2 times v2, 1.6 times v0.
#include <climits>
#include <cuda_runtime.h>

constexpr int THREADS = 256;

__device__ inline float relu(float x) { return x < 0.0f ? 0.0f : x; }

__global__ void __launch_bounds__(THREADS)
    add_relu_x4(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out, long long n) {
    const long long i = (static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x) * 4;
    if (i + 4 <= n) {
        const float4 x = *reinterpret_cast<const float4*>(a + i), y = *reinterpret_cast<const float4*>(b + i);
        *reinterpret_cast<float4*>(out + i) =
            make_float4(relu(x.x + y.x), relu(x.y + y.y), relu(x.z + y.z), relu(x.w + y.w));
    } else {
#pragma unroll 1  // once a grid; unrolled it takes registers from every thread
        for (long long j = i; j < n; ++j) out[j] = relu(a[j] + b[j]);
    }
}

extern "C" cudaError_t add_relu(const float* a, const float* b, float* out, long long n, cudaStream_t stream) {
    if (n < 0) return cudaErrorInvalidValue;
    if (n == 0) return cudaSuccess;
    const size_t addresses = reinterpret_cast<size_t>(a) | reinterpret_cast<size_t>(b) | reinterpret_cast<size_t>(out);
    if (addresses % 16) return cudaErrorMisalignedAddress;
    const long long blocks = (n - 1) / (THREADS * 4) + 1;
    if (blocks > INT_MAX) return cudaErrorInvalidValue;
    add_relu_x4<<<blocks, THREADS, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
