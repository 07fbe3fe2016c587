// What the files of the gallery share: buffers, and the list of cases that each file adds its own to.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

// A and B hold small whole numbers in floats (0 to 7), IDS holds A as integers, ROWS lists of rows, OUT and SMALL are
// zero before the first launch of a case and SMALL before every one. HOST is pinned memory of the host.
constexpr long BIG = 128L << 20;  // floats in A, B and OUT: 512 MiB each
constexpr long ROW_COUNT = 2L << 20;  // rows of 128 bytes: 256 MiB
constexpr long SMALL_COUNT = 1L << 20;
constexpr long HOST_COUNT = 2L << 20;
extern float *A, *B, *OUT, *SMALL, *HOST, *HOST_OUT;
extern unsigned *ROWS;
extern half *HALF_A, *HALF_B;  // 2048 x 2048 each: 0, 0.125, … 0.875
constexpr int SMS = 132;

struct Result {
    const float *values;
    long count;
    long stride;
};

struct Case {
    const char *name;
    void (*launch)();
    Result (*result)();
    const char *same_as;  // the case whose result it must equal, or nullptr
    Case *next;
    Case(const char *, void (*)(), Result (*)(), const char *);
};

void check(cudaError_t status, const char *what, int line);
#define CHECK(call) check(call, #call, __LINE__)

// One case, named like its kernel: CASE(name, values, count, stride, same_as, launch…)
#define CASE(name, values, count, stride, same_as, ...) \
    static Case case_##name(                            \
        #name, [] { __VA_ARGS__; }, [] { return Result{(const float *)(values), count, stride}; }, same_as);

template <typename Kernel>
void allow_shared(Kernel kernel, int bytes) {
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

__device__ __forceinline__ float sum4(float4 v) { return (v.x + v.y) + (v.z + v.w); }

__device__ __forceinline__ float warp_sum(float v) {
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
    return v;
}

// Adds up a block's values and adds the sum to *out; every thread of the block takes part.
__device__ __forceinline__ void add_block_sum(float v, float *out) {
    __shared__ float sums[32];
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = warp_sum(threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0.0f);
        if (threadIdx.x == 0) atomicAdd(out, v);
    }
}
