// CUDA C++ for a host compiler: a launch runs its blocks one after the other, the threads of a block as fibers
// where they meet at __syncthreads() or __syncwarp(). Enough for kernels without warp intrinsics.
#pragma once
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <vector>

#include "emulation_fibers.h"

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

static thread_local uint3 blockIdx, threadIdx;
static dim3 gridDim, blockDim;
constexpr unsigned LANES_A_WARP = 32;

// The last of those expected opens it for all.
struct Door {
    std::atomic<unsigned> come{0}, opened{0};
    template <typename Before = void (*)()>
    void arrive(unsigned expected, Before before_it_opens = [] {}) {
        if (++come != expected) return;
        before_it_opens();
        come = 0;
        ++opened;
    }
};

static thread_local Door block_door, warp_doors[LANES_A_WARP];

inline void meet(Door& door, unsigned expected) {
    const unsigned before = door.opened;
    door.arrive(expected);
    while (door.opened == before) let_others_run();
}

inline void __syncthreads() { meet(block_door, blockDim.x * blockDim.y * blockDim.z); }
inline void __syncwarp() {
    const unsigned warp = (threadIdx.y * blockDim.x + threadIdx.x) / LANES_A_WARP;
    meet(warp_doors[warp], std::min(LANES_A_WARP, blockDim.x * blockDim.y * blockDim.z - LANES_A_WARP * warp));
}
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

inline void be_thread(unsigned i) {
    threadIdx = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
}

inline void each_thread(const std::function<void()>& body) {
    const unsigned count = blockDim.x * blockDim.y * blockDim.z;
#ifdef MEETING
    run_fibers(count, be_thread, body);
#else
    for (unsigned i = 0; i < count; ++i) be_thread(i), body();
#endif
}

// kernel<<<grid, block, 0, stream>>>(arguments) is written emulated(kernel, grid, block)(arguments).
template <typename... A>
auto emulated(void (*kernel)(A...), dim3 grid, dim3 block) {
    return [=](A... arguments) {
        gridDim = grid;
        blockDim = block;
        for (unsigned i = 0; i < grid.x * grid.y * grid.z; ++i) {
            blockIdx = {i % grid.x, i / grid.x % grid.y, i / grid.x / grid.y};
            each_thread([&] { kernel(arguments...); });
        }
    };
}
