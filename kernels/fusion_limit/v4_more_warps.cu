// Changes, to v3: what low occupancy seems to ask for. __launch_bounds__ with 16 blocks an SM: 128 registers a thread.
//
// expected: a step back wherever it does anything. c8 has 28 warps already: nothing. c16: 16 warps instead of 9, and
//   `register-spill`, 76 values a thread that are stored and loaded again for every 16 samples read: 1.2 to 2 times
//   v3's time. c32: twice the warps with 2088 bytes of stack each, more than L2 holds: 1.5 to 3 times v3's time.
// measured: c16 2.43 times v3's time (553 us), c32 1.61 times (5.29 ms), `register-spill`, 3.42x and 10.60x. c8 1.055
//   times: allowed 128 registers instead of 255 the compiler uses 80 instead of 72, and fewer warps fit.
#include "in_registers.cuh"

constexpr int BLOCKS_AN_SM = 16;  // of one warp each

template <int C>
__global__ void __launch_bounds__(WARP, BLOCKS_AN_SM)
    covariance_in_fewer(const float* __restrict__ x, float* __restrict__ mean, float* __restrict__ cov,
                        long long samples) {
    window_in_registers<C>(x, mean, cov, samples);
}

extern "C" cudaError_t fusion_limit(const float* x, float* mean, float* cov, long long windows, long long channels,
                                    long long samples, cudaStream_t stream) {
    if (windows < 0 || windows > INT_MAX || samples < 2) return cudaErrorInvalidValue;
    if (channels != 8 && channels != 16 && channels != 32) return cudaErrorInvalidValue;
    if (windows == 0) return cudaSuccess;
    const auto chosen = channels == 8    ? covariance_in_fewer<8>
                        : channels == 16 ? covariance_in_fewer<16>
                                         : covariance_in_fewer<32>;
    chosen<<<windows, WARP, 0, stream>>>(x, mean, cov, samples);
    return cudaGetLastError();
}
