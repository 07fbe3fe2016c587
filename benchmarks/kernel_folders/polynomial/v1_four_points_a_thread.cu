// Changes: CUDA, four points a thread: four chains of FMAs that do not wait for each other, and a 128-bit load of four
// coefficients, the same for all threads, for every sixteen FMAs.
#include <climits>
#include <cuda_runtime.h>

constexpr int THREADS = 128;

__device__ void step(float4& sum, const float4& x, float coefficient) {
    sum.x = fmaf(sum.x, x.x, coefficient);
    sum.y = fmaf(sum.y, x.y, coefficient);
    sum.z = fmaf(sum.z, x.z, coefficient);
    sum.w = fmaf(sum.w, x.w, coefficient);
}

__global__ void __launch_bounds__(THREADS)
    horner(const float4* __restrict__ x, const float4* __restrict__ coefficients, float4* __restrict__ y, int quads) {
    const long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
    const float4 at = x[i];
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
    for (int k = 0; k < quads; ++k) {
        const float4 c = coefficients[k];
        step(sum, at, c.x);
        step(sum, at, c.y);
        step(sum, at, c.z);
        step(sum, at, c.w);
    }
    y[i] = sum;
}

extern "C" cudaError_t polynomial(const float* x, const float* coefficients, float* y, long long n, long long terms,
                                  cudaStream_t stream) {
    const long long blocks = n / (4 * THREADS);
    if (n % (4 * THREADS) || terms % 4 || blocks < 1 || blocks > INT_MAX || terms > INT_MAX) return cudaErrorInvalidValue;
    const size_t addresses =
        reinterpret_cast<size_t>(x) | reinterpret_cast<size_t>(coefficients) | reinterpret_cast<size_t>(y);
    if (addresses % 16) return cudaErrorMisalignedAddress;
    horner<<<static_cast<unsigned>(blocks), THREADS, 0, stream>>>(
        reinterpret_cast<const float4*>(x), reinterpret_cast<const float4*>(coefficients), reinterpret_cast<float4*>(y),
        static_cast<int>(terms / 4));
    return cudaGetLastError();
}
