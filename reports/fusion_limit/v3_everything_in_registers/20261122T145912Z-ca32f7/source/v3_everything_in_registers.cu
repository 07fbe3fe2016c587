// Changes: one kernel, each sample read once, and every sum in registers: a warp a window, a lane every 32nd sample. 36
// pairs of 8 channels are 72 registers; 136 pairs of 16 are 212; 528 pairs of 32 are more than the 255 that a thread
// has.
//
// expected: at c8 near `at-dram-roofline`, twice v2: here fusion pays what it promises. At c16 `low-occupancy` by
//   registers (9 warps an SM): 0.5 to 0.7 of the copy, still ahead of v2. At c32 `register-spill`: 1600 bytes of stack
//   a thread, 400 KB an SM where L1 has 256: 12 GB through L2 for 0.5 GB of samples. 2 to 5 ms, several times slower
//   than v2.
#include "in_registers.cuh"

template <int C>
__global__ void __launch_bounds__(WARP)
    covariance_fused(const float* __restrict__ x, float* __restrict__ mean, float* __restrict__ cov,
                     long long samples) {
    window_in_registers<C>(x, mean, cov, samples);
}

extern "C" cudaError_t fusion_limit(const float* x, float* mean, float* cov, long long windows, long long channels,
                                    long long samples, cudaStream_t stream) {
    if (windows < 0 || windows > INT_MAX || samples < 2) return cudaErrorInvalidValue;
    if (channels != 8 && channels != 16 && channels != 32) return cudaErrorInvalidValue;
    if (windows == 0) return cudaSuccess;
    const auto chosen = channels == 8    ? covariance_fused<8>
                        : channels == 16 ? covariance_fused<16>
                                         : covariance_fused<32>;
    chosen<<<windows, WARP, 0, stream>>>(x, mean, cov, samples);
    return cudaGetLastError();
}
