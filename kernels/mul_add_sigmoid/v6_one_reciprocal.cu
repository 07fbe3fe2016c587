// Changes: the reciprocal from the special-function unit, good to an ulp, instead of a division rounded as IEEE asks.
// The exponential stays accurate: its reduction is a handful of cheap instructions, without it the error grows with
// |x|.
// parent: v4
//
// expected: `at-dram-roofline`. Eight instructions and a branch fewer an element: one EX2, one RCP and eight others are
//   left. Nothing in time, since v4 hides its arithmetic: level with it and with v2 at n26; at n16 and n20 perhaps 0.1
//   us, as a thread has less to do after its loads.
// measured: nothing at n26 (241.6 us), 0.2 us at n16 and at n20, 6 and 3 %.
#include <climits>
#include <cuda_runtime.h>

constexpr int THREADS = 256;

// 1 / x to an ulp; 0 from 2^126 on, where the quotient is not normal. inf gives 0, NaN stays NaN.
__device__ inline float reciprocal(float x) {
#ifdef __CUDA_ARCH__
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return 1.0f / x;
#endif
}

__device__ inline float sigmoid(float x) { return reciprocal(1.0f + expf(-x)); }

__global__ void __launch_bounds__(THREADS)
    chain_one_reciprocal(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c,
                         float* __restrict__ out, long long n) {
    const long long i = (static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x) * 4;
    if (i + 4 <= n) {
        const float4 x = *reinterpret_cast<const float4*>(a + i), y = *reinterpret_cast<const float4*>(b + i),
                     z = *reinterpret_cast<const float4*>(c + i);
        *reinterpret_cast<float4*>(out + i) = make_float4(sigmoid(fmaf(x.x, y.x, z.x)), sigmoid(fmaf(x.y, y.y, z.y)),
                                                          sigmoid(fmaf(x.z, y.z, z.z)), sigmoid(fmaf(x.w, y.w, z.w)));
    } else {
#pragma unroll 1  // once a grid; unrolled it takes registers from every thread
        for (long long j = i; j < n; ++j) out[j] = sigmoid(fmaf(a[j], b[j], c[j]));
    }
}

extern "C" cudaError_t mul_add_sigmoid(const float* a, const float* b, const float* c, float* out, long long n,
                                       cudaStream_t stream) {
    if (n < 0) return cudaErrorInvalidValue;
    if (n == 0) return cudaSuccess;
    const size_t addresses = reinterpret_cast<size_t>(a) | reinterpret_cast<size_t>(b) | reinterpret_cast<size_t>(c) |
                             reinterpret_cast<size_t>(out);
    if (addresses % 16) return cudaErrorMisalignedAddress;
    const long long blocks = (n - 1) / (THREADS * 4) + 1;
    if (blocks > INT_MAX) return cudaErrorInvalidValue;
    chain_one_reciprocal<<<blocks, THREADS, 0, stream>>>(a, b, c, out, n);
    return cudaGetLastError();
}
