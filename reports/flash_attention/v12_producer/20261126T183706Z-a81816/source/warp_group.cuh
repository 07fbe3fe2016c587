// wgmma, products of a warp group (PTX ISA, "wgmma.mma_async"), and what a warp group has of a tile of scores. It is in
// the architecture sm_90a and in no other, not in sm_90 either.
#pragma once
#include "tma.cuh"

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "wgmma is in no architecture but sm_90a: set NCU_ASSIST_ARCH=sm_90a on a GPU of compute capability 9.0"
#endif

constexpr int GROUP_THREADS = 128;  // four warps, 16 rows of sums each
// The same for all lanes, which the compiler is told by a shuffle: addresses of tiles are then in uniform registers.
__device__ inline int own_group() { return __shfl_sync(ALL_LANES, static_cast<int>(threadIdx.x) / GROUP_THREADS, 0); }

constexpr int STEP = 16;  // what one product sums over

// 64 rows of sums, 8 WIDE columns. g = lane / 4 and t = lane % 4: of block j a lane of warp w has row 16 w + g, columns
// 8 j + 2 t and the next, and the same of row 16 w + g + 8.
template <int WIDE>
using Sums = float[WIDE][4];

// Of a tile whose rows are 128 bytes, swizzled: eight rows are 1024 bytes (PTX ISA, "Matrix Descriptor Format").
// `panel`: bytes from a panel of 64 columns to the next, for a matrix of which rows are summed over. One of which
// columns are summed over goes on 32 bytes later, and takes its panels one by one.
__device__ inline unsigned long long descriptor(const bf16* tile, int panel = 16) {
    constexpr unsigned long long EIGHT_ROWS = 1024 >> 4, SWIZZLE_128 = 1;
    return (in_shared(tile) & 0x3ffff) >> 4 | static_cast<unsigned long long>(panel >> 4) << 16 | EIGHT_ROWS << 32 |
           SWIZZLE_128 << 62;
}

constexpr int ELEMENT = sizeof(bf16);
__device__ constexpr unsigned long long further(int bytes) { return bytes >> 4; }

// Sums, operands in registers, and what is in shared memory by barriers of TMA, are ready for the products that follow.
__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Until at most the last N groups of products are under way.
template <int N>
__device__ inline void await_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

// No sum is read earlier than here: the compiler does not know that products write them later.
template <int WIDE>
__device__ inline void settle(Sums<WIDE>& sums) {
#pragma unroll
    for (int i = 0; i < 4 * WIDE; ++i) asm volatile("" : "+f"(sums[i / 4][i % 4])::"memory");
}

#define BLOCK(j) "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
#define BLOCKS_2(j) BLOCK(j), BLOCK(j + 1)
#define BLOCKS_8(j) BLOCKS_2(j), BLOCKS_2(j + 2), BLOCKS_2(j + 4), BLOCKS_2(j + 6)

// d = a b, or d += a b where it is not the FIRST: columns of both are summed over, 16 of them.
template <bool FIRST>
__device__ inline void multiply(Sums<8>& d, unsigned long long a, unsigned long long b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31 "
        "}, %32, %33, %34, 1, 1, 0, 0;"
        : BLOCKS_8(0)
        : "l"(a), "l"(b), "n"(FIRST ? 0 : 1));
}
template <bool FIRST>
__device__ inline void multiply(Sums<16>& d, unsigned long long a, unsigned long long b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63 "
        "}, %64, %65, %66, 1, 1, 0, 0;"
        : BLOCKS_8(0), BLOCKS_8(8)
        : "l"(a), "l"(b), "n"(FIRST ? 0 : 1));
}
template <bool FIRST>
__device__ inline void multiply(Sums<22>& d, unsigned long long a, unsigned long long b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n176k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87 "
        "}, %88, %89, %90, 1, 1, 0, 0;"
        : BLOCKS_8(0), BLOCKS_8(8), BLOCKS_2(16), BLOCKS_2(18), BLOCKS_2(20)
        : "l"(a), "l"(b), "n"(FIRST ? 0 : 1));
}
template <bool FIRST>
__device__ inline void multiply(Sums<24>& d, unsigned long long a, unsigned long long b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95 "
        "}, %96, %97, %98, 1, 1, 0, 0;"
        : BLOCKS_8(0), BLOCKS_8(8), BLOCKS_8(16)
        : "l"(a), "l"(b), "n"(FIRST ? 0 : 1));
}

// d += a b: rows of b are summed over, 16 of them. a is in registers, as mma.sync has it.
__device__ inline void multiply(Sums<8>& d, const unsigned (&a)[4], unsigned long long b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31 "
        "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
        : BLOCKS_8(0)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
__device__ inline void multiply(Sums<16>& d, const unsigned (&a)[4], unsigned long long b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63 "
        "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
        : BLOCKS_8(0), BLOCKS_8(8)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

#undef BLOCK
#undef BLOCKS_2
#undef BLOCKS_8

// scores = q k^T: 64 rows of q, 8 WIDE of k, panel by panel.
template <int DIM, int WIDE>
__device__ inline void multiply_keys(Sums<WIDE>& scores, const bf16* q_rows, const bf16* keys) {
    const unsigned long long a = descriptor(q_rows), b = descriptor(keys);
#pragma unroll
    for (int k = 0; k < DIM / STEP; ++k) {
        const int panel = k * STEP / PANEL, along = k * STEP % PANEL;
        const auto far = [&](int rows) { return further((panel * rows * PANEL + along) * ELEMENT); };
        if (k == 0) multiply<true>(scores, a, b);
        else multiply<false>(scores, a + far(GROUP_ROWS), b + far(8 * WIDE));
    }
    commit_products();
}

// Powers of 8 WIDE keys, as the operand of the second product.
template <int WIDE>
using Powers = unsigned[WIDE / 2][4];

// result += powers v
template <int WIDE, int COLUMNS>
__device__ inline void add_values(Sums<COLUMNS>& result, const Powers<WIDE>& powers, const bf16* values) {
    const unsigned long long b = descriptor(values, 8 * WIDE * PANEL * ELEMENT);
#pragma unroll
    for (int k = 0; k < WIDE * 8 / STEP; ++k) multiply(result, powers[k], b + further(k * STEP * PANEL * ELEMENT));
    commit_products();
}
