// CUDA C++ for a host compiler: a launch runs its blocks one after the other, the threads of a block as real threads
// where they meet at __syncthreads() or __syncwarp(). Enough for kernels without warp intrinsics.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <pthread.h>

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
static pthread_barrier_t meeting;
static std::vector<pthread_barrier_t> warp_meetings;

inline void __syncthreads() { pthread_barrier_wait(&meeting); }
inline void __syncwarp() { pthread_barrier_wait(&warp_meetings[(threadIdx.y * blockDim.x + threadIdx.x) / 32]); }
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

template <typename Body>
void each_thread(Body body) {
    const unsigned count = blockDim.x * blockDim.y * blockDim.z;
    const auto one = [&](uint3 block, unsigned i) {
        blockIdx = block;
        threadIdx = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
        body();
    };
    const uint3 block = blockIdx;
#ifdef MEETING
    pthread_barrier_init(&meeting, nullptr, count);
    warp_meetings.resize((count + 31) / 32);
    for (unsigned i = 0; i < warp_meetings.size(); ++i) {
        pthread_barrier_init(&warp_meetings[i], nullptr, std::min(32u, count - 32 * i));
    }
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < count; ++i) threads.emplace_back(one, block, i);
    for (std::thread& thread : threads) thread.join();
    pthread_barrier_destroy(&meeting);
    for (pthread_barrier_t& one : warp_meetings) pthread_barrier_destroy(&one);
#else
    for (unsigned i = 0; i < count; ++i) one(block, i);
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
