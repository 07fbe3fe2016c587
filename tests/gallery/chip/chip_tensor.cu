// wgmma: how many products before a wait, how wide, and what brings the operands: bulk copies in stages, or threads.
#include "../gallery.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL  // nvcc may translate for plain sm_90 as well, which has no wgmma
#define WGMMA(text) asm volatile text
#else
#define WGMMA(text)
#endif

#define FOUR(s, k) "+f"(s[k]), "+f"(s[k + 1]), "+f"(s[k + 2]), "+f"(s[k + 3])
#define SIXTEEN(s, k) FOUR(s, k), FOUR(s, k + 4), FOUR(s, k + 8), FOUR(s, k + 12)
#define SIXTY_FOUR(s, k) SIXTEEN(s, k), SIXTEEN(s, k + 16), SIXTEEN(s, k + 32), SIXTEEN(s, k + 48)

using Operand = unsigned long long;

// Slabs of 16 halves' depth: cores of 8 x 8 halves, 128 bytes each, two beside each other, no swizzle.
__device__ __forceinline__ Operand operand(const half *slab) {
    Operand at = __cvta_generic_to_shared(slab);
    return at >> 4 | 128ull / 16 << 16 | 256ull / 16 << 32;
}

__device__ __forceinline__ void product_16(float *s, Operand l, Operand r) {
    WGMMA(("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1, 1, 1, 0, 0;"
           : FOUR(s, 0), FOUR(s, 4)
           : "l"(l), "l"(r)));
}

__device__ __forceinline__ void product_64(float *s, Operand l, Operand r) {
    WGMMA(("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
           "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
           "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
           "}, %32, %33, 1, 1, 1, 0, 0;"
           : SIXTEEN(s, 0), SIXTEEN(s, 16)
           : "l"(l), "l"(r)));
}

__device__ __forceinline__ void product_256(float *s, Operand l, Operand r) {
    WGMMA(("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
           "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
           "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
           "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
           "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
           "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
           "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
           "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
           "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
           "}, %128, %129, 1, 1, 1, 0, 0;"
           : SIXTY_FOUR(s, 0), SIXTY_FOUR(s, 64)
           : "l"(l), "l"(r)));
}

__device__ __forceinline__ void begin_products() { WGMMA(("wgmma.fence.sync.aligned;" ::: "memory")); }

__device__ __forceinline__ void wait_for_products() {
    WGMMA(("wgmma.commit_group.sync.aligned;" ::: "memory"));
    WGMMA(("wgmma.wait_group.sync.aligned 0;" ::: "memory"));
}

__device__ __forceinline__ void show_to_tensor_cores() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
}

// ---- on one tile in shared memory: a wait a product, or one for eight; products of 16 columns, or of 64

constexpr int ROUNDS = 512, DEEP_SLABS = 8;

struct Tile {
    half left[2][64 * 16], right[64 * 16];
};

__device__ __forceinline__ void fill(Tile &tile, const half *in) {
    for (int k = threadIdx.x; k < 64 * 16; k += blockDim.x) {
        tile.left[0][k] = in[k], tile.left[1][k] = in[k + 1024], tile.right[k] = in[k + 2048];
    }
    show_to_tensor_cores();
}

extern "C" __global__ void __launch_bounds__(128) tensor_wait_a_product(const half *in, float *out) {
    __shared__ alignas(1024) Tile tile;
    fill(tile, in);
    float s[32] = {}, sum = 0;
    Operand l = operand(tile.left[0]), r = operand(tile.right);
#pragma unroll 1
    for (int k = 0; k < ROUNDS * DEEP_SLABS; ++k) {
        begin_products();
        product_64(s, l, r);
        wait_for_products();  // FAULT
    }
#pragma unroll
    for (int k = 0; k < 32; ++k) sum += s[k];
    out[blockIdx.x * 128 + threadIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(128) tensor_wait_a_product_fix(const half *in, float *out) {
    __shared__ alignas(1024) Tile tile;
    fill(tile, in);
    float s[32] = {}, sum = 0;
    Operand l = operand(tile.left[0]), r = operand(tile.right);
#pragma unroll 1
    for (int k = 0; k < ROUNDS; ++k) {
        begin_products();
#pragma unroll
        for (int q = 0; q < DEEP_SLABS; ++q) product_64(s, l, r);
        wait_for_products();
    }
#pragma unroll
    for (int k = 0; k < 32; ++k) sum += s[k];
    out[blockIdx.x * 128 + threadIdx.x] = sum;
}

CASE(tensor_wait_a_product, OUT, SMS * 128, 1, nullptr, tensor_wait_a_product<<<SMS, 128>>>(HALF_A, OUT))
CASE(tensor_wait_a_product_fix, OUT, SMS * 128, 1, "tensor_wait_a_product",
     tensor_wait_a_product_fix<<<SMS, 128>>>(HALF_A, OUT))

extern "C" __global__ void __launch_bounds__(256) tensor_narrow_products(const half *in, float *out) {
    __shared__ alignas(1024) Tile tile;
    fill(tile, in);
    float s[4][8] = {}, sum = 0;
    Operand l = operand(tile.left[threadIdx.x / 128]);
#pragma unroll 1
    for (int k = 0; k < ROUNDS; ++k) {
        begin_products();
#pragma unroll
        for (int q = 0; q < DEEP_SLABS; ++q)
#pragma unroll
            for (int n = 0; n < 4; ++n) product_16(s[n], l, operand(tile.right + n * 256));  // FAULT
        wait_for_products();
    }
#pragma unroll
    for (int k = 0; k < 32; ++k) sum += s[k / 8][k % 8];
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(256) tensor_narrow_products_fix(const half *in, float *out) {
    __shared__ alignas(1024) Tile tile;
    fill(tile, in);
    float s[32] = {}, sum = 0;
    Operand l = operand(tile.left[threadIdx.x / 128]), r = operand(tile.right);
#pragma unroll 1
    for (int k = 0; k < ROUNDS; ++k) {
        begin_products();
#pragma unroll
        for (int q = 0; q < DEEP_SLABS; ++q) product_64(s, l, r);
        wait_for_products();
    }
#pragma unroll
    for (int k = 0; k < 32; ++k) sum += s[k];
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}

CASE(tensor_narrow_products, OUT, SMS * 256, 1, nullptr, tensor_narrow_products<<<SMS, 256>>>(HALF_A, OUT))
CASE(tensor_narrow_products_fix, OUT, SMS * 256, 1, "tensor_narrow_products",
     tensor_narrow_products_fix<<<SMS, 256>>>(HALF_A, OUT))

// ---- 2,048 x 2,048 results of 2,048 terms, 128 x 256 a block; operands lie in memory tile by tile, 64 deep each

constexpr int STEPS = 2048 / 64, LEFT = 128 * 64, RIGHT = 256 * 64, STAGE = LEFT + RIGHT;  // in halves

__device__ __forceinline__ void multiply_stage(float *s, const half *stage) {
    begin_products();
#pragma unroll
    for (int slab = 0; slab < 4; ++slab) {
        const half *left = stage + slab * 128 * 16 + threadIdx.x / 128 * 64 * 16, *right = stage + LEFT;
        product_256(s, operand(left), operand(right + slab * 256 * 16));
    }
    wait_for_products();
}

// In the order in which threads hold them.
__device__ __forceinline__ void store_results(const float *s, float *out) {
#pragma unroll
    for (int k = 0; k < 128; ++k) out[(blockIdx.x * 128 + k) * 256 + threadIdx.x] = s[k];
}

__device__ __forceinline__ void wait_for(unsigned barrier, int parity) {
    asm volatile(  // FAULT
        "{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra AGAIN;\n}\n" ::"r"(barrier), "r"(parity) : "memory");
}

template <int PIECE>
__device__ __forceinline__ void fetch(unsigned to, const half *from, int halves, unsigned barrier) {
#pragma unroll 1
    for (int at = 0; at < halves * 2; at += PIECE)
        asm volatile(  // FAULT
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to + at),
            "l"((const char *)from + at), "n"(PIECE), "r"(barrier)
            : "memory");
}

// Two groups of four warps multiply, one more warp fetches ahead.
template <int STAGES, int PIECE>
__device__ __forceinline__ void staged_product(const half *__restrict__ a, const half *__restrict__ b, float *out) {
    extern __shared__ __align__(1024) half stages[];
    __shared__ alignas(8) unsigned long long barriers[2 * STAGES];
    unsigned full = __cvta_generic_to_shared(barriers), empty = full + 8 * STAGES;
    unsigned to = __cvta_generic_to_shared(stages);
    if (threadIdx.x < 2 * STAGES)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(full + 8 * threadIdx.x),
                     "r"(threadIdx.x < STAGES ? 1 : 2));
    show_to_tensor_cores();
    if (threadIdx.x >= 256) {
        if (threadIdx.x > 256) return;
#pragma unroll 1
        for (int step = 0; step < STEPS; ++step) {
            int s = step % STAGES;
            unsigned barrier = full + 8 * s, at = to + s * STAGE * 2;
            wait_for(empty + 8 * s, (step / STAGES & 1) ^ 1);
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(STAGE * 2));
            fetch<PIECE>(at, a + (blockIdx.x / 8 * STEPS + step) * LEFT, LEFT, barrier);
            fetch<PIECE>(at + LEFT * 2, b + (blockIdx.x % 8 * STEPS + step) * RIGHT, RIGHT, barrier);
        }
        return;
    }
    float sums[128] = {};
#pragma unroll 1
    for (int step = 0; step < STEPS; ++step) {
        int s = step % STAGES;
        wait_for(full + 8 * s, step / STAGES & 1);  // FAULT
        multiply_stage(sums, stages + s * STAGE);
        if (threadIdx.x % 128 == 0)
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(empty + 8 * s) : "memory");
    }
    store_results(sums, out);
}

extern "C" __global__ void __launch_bounds__(288, 1) tensor_one_stage(const half *a, const half *b, float *out) {
    staged_product<1, 16384>(a, b, out);
}

extern "C" __global__ void __launch_bounds__(288, 1) tensor_small_copies(const half *a, const half *b, float *out) {
    staged_product<4, 128>(a, b, out);
}

extern "C" __global__ void __launch_bounds__(288, 1) tensor_four_stages(const half *a, const half *b, float *out) {
    staged_product<4, 16384>(a, b, out);
}

// The threads themselves load, store and wait before they multiply.
extern "C" __global__ void __launch_bounds__(256, 1) tensor_filled_by_threads(const half *a, const half *b, float *out) {
    extern __shared__ __align__(1024) half filled[];
    float sums[128] = {};
#pragma unroll 1
    for (int step = 0; step < STEPS; ++step) {
        const uint4 *left = (const uint4 *)(a + (blockIdx.x / 8 * STEPS + step) * LEFT);
        const uint4 *right = (const uint4 *)(b + (blockIdx.x % 8 * STEPS + step) * RIGHT);
        uint4 *to = (uint4 *)filled;
        __syncthreads();
#pragma unroll 4
        for (int k = threadIdx.x; k < LEFT / 8; k += 256) to[k] = left[k];  // FAULT
#pragma unroll 4
        for (int k = threadIdx.x; k < RIGHT / 8; k += 256) to[LEFT / 8 + k] = right[k];  // FAULT
        show_to_tensor_cores();
        multiply_stage(sums, filled);
    }
    store_results(sums, out);
}

constexpr int RESULTS = 2048 * 2048;

CASE(tensor_four_stages, OUT, RESULTS, 1, nullptr, {
    allow_shared(tensor_four_stages, 4 * STAGE * 2);
    tensor_four_stages<<<128, 288, 4 * STAGE * 2>>>(HALF_A, HALF_B, OUT);
})
CASE(tensor_one_stage, OUT, RESULTS, 1, "tensor_four_stages", {
    allow_shared(tensor_one_stage, STAGE * 2);
    tensor_one_stage<<<128, 288, STAGE * 2>>>(HALF_A, HALF_B, OUT);
})
CASE(tensor_small_copies, OUT, RESULTS, 1, "tensor_four_stages", {
    allow_shared(tensor_small_copies, 4 * STAGE * 2);
    tensor_small_copies<<<128, 288, 4 * STAGE * 2>>>(HALF_A, HALF_B, OUT);
})
CASE(tensor_filled_by_threads, OUT, RESULTS, 1, "tensor_four_stages", {
    allow_shared(tensor_filled_by_threads, STAGE * 2);
    tensor_filled_by_threads<<<128, 256, STAGE * 2>>>(HALF_A, HALF_B, OUT);
})
