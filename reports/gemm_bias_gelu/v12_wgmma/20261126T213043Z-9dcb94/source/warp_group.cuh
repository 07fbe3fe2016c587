// wgmma, products of a warp group on operands in shared memory (PTX ISA, "wgmma.mma_async"). It is in the architecture
// sm_90a and in no other, not in sm_90 either.
#pragma once
#include "ring.cuh"

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "wgmma is in no architecture but sm_90a: set NCU_ASSIST_ARCH=sm_90a on a GPU of compute capability 9.0"
#endif

constexpr int GROUP_THREADS = 128;  // four warps, 16 rows of sums each
constexpr int GROUP_ROWS = 64;

// Of a tile whose rows are DEPTH elements and whose chunks lie where `place` has them: eight rows are 1024 bytes, the
// swizzle is of 128 (PTX ISA, "Matrix Descriptor Format"). A product further along k starts 32 bytes on.
__device__ inline unsigned long long descriptor(const bf16* tile) {
    constexpr unsigned long long EIGHT_ROWS = 1024 >> 4, SWIZZLE_128 = 1;
    return (in_shared(tile) & 0x3ffff) >> 4 | 1ull << 16 | EIGHT_ROWS << 32 | SWIZZLE_128 << 62;
}
constexpr unsigned long long NEXT_STEP = STEP * sizeof(bf16) >> 4;

// Sums, and what is in shared memory by barriers of TMA, are ready for the products that follow.
__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Until at most the last N groups of products are under way.
template <int N>
__device__ inline void await_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

// No sum is read earlier than here: the compiler does not know that products write them later.
template <int WIDE>
__device__ inline void settle(Sums<1, WIDE>& sums) {
#pragma unroll
    for (int i = 0; i < 4 * WIDE; ++i) asm volatile("" : "+f"(sums.of[0][i / 4][i % 4])::"memory");
}

#define BLOCK(j) "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
#define BLOCKS_4(j) BLOCK(j), BLOCK(j + 1), BLOCK(j + 2), BLOCK(j + 3)
#define BLOCKS_8(j) BLOCKS_4(j), BLOCKS_4(j + 4)

// 64 x 8 WIDE sums, 16 products each. As of mma.sync, g = lane / 4 and t = lane % 4: of block j a lane of warp w has
// row 16 w + g, columns 8 j + 2 t and the next, and the same of row 16 w + g + 8.
__device__ inline void multiply(Sums<1, 8>& sums, unsigned long long a, unsigned long long b) {
    float(&d)[8][4] = sums.of[0];
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
        "}, %32, %33, 1, 1, 1, 0, 0;"
        : BLOCKS_8(0)
        : "l"(a), "l"(b));
}
__device__ inline void multiply(Sums<1, 16>& sums, unsigned long long a, unsigned long long b) {
    float(&d)[16][4] = sums.of[0];
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
        "}, %64, %65, 1, 1, 1, 0, 0;"
        : BLOCKS_8(0), BLOCKS_8(8)
        : "l"(a), "l"(b));
}
__device__ inline void multiply(Sums<1, 24>& sums, unsigned long long a, unsigned long long b) {
    float(&d)[24][4] = sums.of[0];
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
        "}, %96, %97, 1, 1, 1, 0, 0;"
        : BLOCKS_8(0), BLOCKS_8(8), BLOCKS_8(16)
        : "l"(a), "l"(b));
}
__device__ inline void multiply(Sums<1, 32>& sums, unsigned long long a, unsigned long long b) {
    float(&d)[32][4] = sums.of[0];
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
        "}, %128, %129, 1, 1, 1, 0, 0;"
        : BLOCKS_8(0), BLOCKS_8(8), BLOCKS_8(16), BLOCKS_8(24)
        : "l"(a), "l"(b));
}

#undef BLOCK
#undef BLOCKS_4
#undef BLOCKS_8

// A tile of both operands: 64 rows of x and all rows of weight.
template <int WIDE>
__device__ inline void multiply_tile(Sums<1, WIDE>& sums, const bf16* x_rows, const bf16* weight_tile) {
    const unsigned long long a = descriptor(x_rows), b = descriptor(weight_tile);
    begin_products();
#pragma unroll
    for (int step = 0; step < STEPS; ++step) multiply(sums, a + step * NEXT_STEP, b + step * NEXT_STEP);
    commit_products();
}
