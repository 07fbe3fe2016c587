// CUDA C++ for a host compiler: a launch runs its blocks one after the other, the threads of a block as fibers
// where they meet at __syncthreads() or __syncwarp(). Enough for kernels without warp intrinsics. What does not depend
// on the kernel is in emulation.cpp, which is compiled once.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#undef __global__
#undef __device__
#undef __shared__
#undef __launch_bounds__
#undef __grid_constant__
#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(...)
#define __grid_constant__
#define cudaGetLastError() cudaSuccess

extern __thread uint3 blockIdx, threadIdx;
extern dim3 gridDim, blockDim;
extern const bool threads_meet;  // said by what is compiled
constexpr unsigned LANES_A_WARP = 32;

void __syncthreads();
void __syncwarp();

// What one thread does; it lives as long as what it was made of.
struct Body {
    void (*call)(const void*);
    const void* made_of;
    void operator()() const { call(made_of); }
};
template <typename F>
Body body_of(const F& f) {
    return {[](const void* it) { (*static_cast<const F*>(it))(); }, &f};
}
void run_one_after_the_other(dim3 grid, dim3 block, bool meet, Body thread);

inline float __uint_as_float(unsigned x) { float y; std::memcpy(&y, &x, 4); return y; }
inline unsigned __float_as_uint(float x) { unsigned y; std::memcpy(&y, &x, 4); return y; }
inline int __double2loint(double x) { int y; std::memcpy(&y, &x, 4); return y; }
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
    return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (by & 31));
}
template <typename T> T __ldcs(const T* address) { return *address; }
template <typename T> void __stcs(T* address, T value) { *address = value; }
inline void sincospif(float x, float* sine, float* cosine) {
    *sine = static_cast<float>(std::sin(M_PI * static_cast<double>(x)));
    *cosine = static_cast<float>(std::cos(M_PI * static_cast<double>(x)));
}
inline float __fdividef(float x, float y) { return x / y; }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }

// kernel<<<grid, block, 0, stream>>>(arguments) is written emulated(kernel, grid, block)(arguments).
template <typename... A>
auto emulated(void (*kernel)(A...), dim3 grid, dim3 block) {
    return [=](A... arguments) {
        const auto thread = [&] { kernel(arguments...); };
        run_one_after_the_other(grid, block, threads_meet, body_of(thread));
    };
}
