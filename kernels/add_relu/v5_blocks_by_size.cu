// Changes, to v3: blocks of 64 threads instead of 256 where 256 would leave multiprocessors without a block, and any
// address: what does not lie on 16 bytes goes element by element. The operator is a type, the rest does not know it.
// parent: v3
//
// expected: `at-dram-roofline` at n26, the code of v3 there: level with it and with v1, 1.00 to 1.03 of the copy. At
//   n16 256 threads make 64 blocks for 132 multiprocessors, 64 threads 256: 0.1 us of some 4, if anything, and
//   `launch-bound` as before.
// measured: 183.6 us at n26, level with v3. At n16 nothing won.
#include <climits>
#include <cuda_runtime.h>

constexpr int THREADS = 256, FEW_THREADS = 64;
constexpr long long FEW_PACKS = 132 * THREADS;  // an H200 has 132 multiprocessors: below it some would get no block

struct SumRelu {
    __device__ static float of(float x, float y) {
        const float sum = x + y;
        return sum < 0.0f ? 0.0f : sum;  // NaN stays NaN
    }
};

template <typename Operator>
__global__ void __launch_bounds__(THREADS)
    packs_of_four(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out, long long n) {
    const long long i = (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) * 4;
    if (i + 4 <= n) {
        const float4 x = *reinterpret_cast<const float4*>(a + i), y = *reinterpret_cast<const float4*>(b + i);
        *reinterpret_cast<float4*>(out + i) = make_float4(Operator::of(x.x, y.x), Operator::of(x.y, y.y),
                                                          Operator::of(x.z, y.z), Operator::of(x.w, y.w));
    } else {
#pragma unroll 1  // once a grid; unrolled it takes registers from every thread
        for (long long j = i; j < n; ++j) out[j] = Operator::of(a[j], b[j]);
    }
}

template <typename Operator>
__global__ void __launch_bounds__(THREADS)
    elements(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out, long long n) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) out[i] = Operator::of(a[i], b[i]);
}

extern "C" cudaError_t add_relu(const float* a, const float* b, float* out, long long n, cudaStream_t stream) {
    if (n < 0) return cudaErrorInvalidValue;
    if (n == 0) return cudaSuccess;
    const size_t addresses = reinterpret_cast<size_t>(a) | reinterpret_cast<size_t>(b) | reinterpret_cast<size_t>(out);
    if (addresses % sizeof(float)) return cudaErrorMisalignedAddress;
    const bool packed = addresses % 16 == 0;
    const long long work = packed ? (n - 1) / 4 + 1 : n;
    const int threads = work < FEW_PACKS ? FEW_THREADS : THREADS;
    const long long blocks = (work - 1) / threads + 1;
    if (blocks > INT_MAX) return cudaErrorInvalidValue;
    const auto chosen = packed ? packs_of_four<SumRelu> : elements<SumRelu>;
    chosen<<<blocks, threads, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
