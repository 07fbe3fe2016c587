// Products of half matrices (rows times rows, as queries times keys) by mma.sync and wgmma.
#include <cstdint>

#include "../gallery.cuh"

extern __shared__ __align__(1024) unsigned char stages[];
constexpr int N = 2048, DEEP = 64, ROW_BYTES = DEEP * 2, HEADS = 4;

__device__ __forceinline__ void copy16(uint32_t to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
}
__device__ __forceinline__ void copies_end() { asm volatile("cp.async.commit_group;"); }
template <int LEFT>
__device__ __forceinline__ void copies_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}
__device__ __forceinline__ uint32_t address_of(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

// Where 16 bytes of a row of 128 bytes lie: in place, or moved by the row so that eight rows fall into eight bank
// groups.
template <bool MOVED>
__device__ __forceinline__ uint32_t place(int row, int chunk) {
    return row * ROW_BYTES + ((MOVED ? chunk ^ (row & 7) : chunk) * 16);
}

// Copies ROWS rows of 64 halves from column k on with 256 threads.
template <int ROWS, bool MOVED>
__device__ __forceinline__ void copy_rows(uint32_t to, const half *from, int first_row, int k) {
#pragma unroll
    for (int i = 0; i < ROWS * 8 / 256; ++i) {
        int c = threadIdx.x + i * 256;
        copy16(to + place<MOVED>(c / 8, c % 8), from + (long)((first_row + c / 8) % N) * N + k + c % 8 * 8);
    }
}

__device__ __forceinline__ void load_queries(uint32_t (&r)[4], uint32_t at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}
__device__ __forceinline__ void load_keys(uint32_t (&r)[4], uint32_t at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"  // FAULT
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");  // FAULT
}
__device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Tiles of 128 x 128, eight warps of 64 x 32, two stages of 64 columns by cp.async.
template <bool KEYS_MOVED>
__device__ __forceinline__ void scores_by_mma(const half *q, const half *k, float *out) {
    constexpr int HALF_STAGE = 128 * ROW_BYTES;
    uint32_t base = address_of(stages);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, wy = warp / 4 * 64, wx = warp % 4 * 32;
    int row = blockIdx.y * 128, column = blockIdx.x * 128, head = blockIdx.z * 64;
    float sum[4][4][4] = {};
    copy_rows<128, true>(base, q, row + head, 0);
    copy_rows<128, KEYS_MOVED>(base + HALF_STAGE, k, column, 0);
    copies_end();
#pragma unroll 1
    for (int step = 0; step < N / DEEP; ++step) {
        uint32_t here = base + step % 2 * 2 * HALF_STAGE, there = base + (step + 1) % 2 * 2 * HALF_STAGE;
        if (step + 1 < N / DEEP) {
            copy_rows<128, true>(there, q, row + head, (step + 1) * DEEP);
            copy_rows<128, KEYS_MOVED>(there + HALF_STAGE, k, column, (step + 1) * DEEP);
        }
        copies_end();
        copies_wait<1>();
        __syncthreads();
#pragma unroll
        for (int d = 0; d < DEEP / 16; ++d) {
            uint32_t a[4][4], b[2][4];
#pragma unroll
            for (int i = 0; i < 4; ++i) load_queries(a[i], here + place<true>(wy + i * 16 + lane % 16, d * 2 + lane / 16));
#pragma unroll
            for (int j = 0; j < 2; ++j)
                load_keys(b[j], here + HALF_STAGE +
                                    place<KEYS_MOVED>(wx + j * 16 + lane / 16 * 8 + lane % 8, d * 2 + lane / 8 % 2));
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) multiply(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
        __syncthreads();
    }
    out += (long)blockIdx.z * N * N;
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            long at = (long)(row + wy + i * 16 + lane / 4) * N + column + wx + j * 8 + lane % 4 * 2;
            *(float2 *)(out + at) = {sum[i][j][0], sum[i][j][1]};
            *(float2 *)(out + at + 8 * N) = {sum[i][j][2], sum[i][j][3]};
        }
}

// Subtle: tensor pipe idle, barriers, 16 warps an SM; but it is the keys, which lie in rows of 128 bytes as they came:
// each ldmatrix of them takes eight wavefronts a matrix, 64 + 16 a step of 16 where the fix has 24. About 2.2x.
extern "C" __global__ void __launch_bounds__(256, 2) scores_keys_in_place(const half *q, const half *k, float *out) {
    scores_by_mma<false>(q, k, out);
}

extern "C" __global__ void __launch_bounds__(256, 2) scores_keys_in_place_fix(
    const half *q, const half *k, float *out) {
    scores_by_mma<true>(q, k, out);
}

constexpr int MMA_SHARED = 4 * 128 * ROW_BYTES;
CASE(scores_keys_in_place, OUT, (long)HEADS *N *N, 1, nullptr, allow_shared(scores_keys_in_place, MMA_SHARED);
     scores_keys_in_place<<<dim3(16, 16, HEADS), 256, MMA_SHARED>>>(HALF_A, HALF_B, OUT))
CASE(scores_keys_in_place_fix, OUT, (long)HEADS *N *N, 1, "scores_keys_in_place",
     allow_shared(scores_keys_in_place_fix, MMA_SHARED);
     scores_keys_in_place_fix<<<dim3(16, 16, HEADS), 256, MMA_SHARED>>>(HALF_A, HALF_B, OUT))

// A tile of rows of 128 bytes, moved by row (the 128-byte swizzle), eight rows every 1024 bytes.
__device__ __forceinline__ uint64_t descriptor(uint32_t at) {
    return (uint64_t)((at & 0x3ffff) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

#define F4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define F16(d, i) F4(d, i), F4(d, i + 4), F4(d, i + 8), F4(d, i + 12)
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
__device__ __forceinline__ void wgmma_128(float (&d)[64], uint64_t a, uint64_t b) {
    asm volatile(
        "{ .reg .pred p; setp.eq.u32 p, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, p, 1, 1, 0, 0; }\n"
        : F16(d, 0), F16(d, 16), F16(d, 32), F16(d, 48)
        : "l"(a), "l"(b));
}
__device__ __forceinline__ void wgmma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_end() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }
#else  // PTX for other machines, which nobody runs
__device__ __forceinline__ void wgmma_128(float (&)[64], uint64_t, uint64_t) {}
__device__ __forceinline__ void wgmma_begin() {}
__device__ __forceinline__ void wgmma_end() {}
__device__ __forceinline__ void wgmma_wait() {}
#endif
__device__ __forceinline__ void show_to_wgmma() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

constexpr int LEFT_BYTES = 128 * ROW_BYTES, STAGE = LEFT_BYTES + 256 * ROW_BYTES;

// Tile of 128 x 256: each of two warp groups has 64 rows and all columns.
__device__ __forceinline__ void multiply_stage(float (&low)[64], float (&high)[64], uint32_t stage) {
    uint32_t left = stage + threadIdx.x / 128 * (64 * ROW_BYTES), right = stage + LEFT_BYTES;
#pragma unroll
    for (int d = 0; d < DEEP / 16; ++d) {
        wgmma_128(low, descriptor(left + d * 32), descriptor(right + d * 32));
        wgmma_128(high, descriptor(left + d * 32), descriptor(right + 128 * ROW_BYTES + d * 32));
    }
}

__device__ __forceinline__ void copy_stage(uint32_t stage, const half *q, const half *k, int step) {
    copy_rows<128, true>(stage, q, blockIdx.y * 128 + blockIdx.z * 64, step * DEEP);
    copy_rows<256, true>(stage + LEFT_BYTES, k, blockIdx.x * 256, step * DEEP);
    copies_end();
}

__device__ __forceinline__ void store_tile(
    const float (&low)[64], const float (&high)[64], float *out, int pitch, float scale) {
    int t = threadIdx.x, row = blockIdx.y * 128 + t / 32 * 16 + t % 32 / 4;
    out += (long)blockIdx.z * N * N + (long)row * pitch + blockIdx.x * 256 + t % 4 * 2;
#pragma unroll
    for (int j = 0; j < 16; ++j) {
        *(float2 *)(out + j * 8) = {low[j * 4] * scale, low[j * 4 + 1] * scale};
        *(float2 *)(out + j * 8 + 8 * pitch) = {low[j * 4 + 2] * scale, low[j * 4 + 3] * scale};
        *(float2 *)(out + j * 8 + 128) = {high[j * 4] * scale, high[j * 4 + 1] * scale};
        *(float2 *)(out + j * 8 + 128 + 8 * pitch) = {high[j * 4 + 2] * scale, high[j * 4 + 3] * scale};
    }
}

// The newest instruction, but one stage: copy 48 KiB, wait, multiply, wait. A step needs about 1000 cycles of the
// tensor pipe and 1500 or more of waiting for L2; the fix has both at once. About 2x.
extern "C" __global__ void __launch_bounds__(256, 1) scores_one_stage(const half *q, const half *k, float *out) {
    uint32_t base = (address_of(stages) + 1023) & ~1023u;
    float low[64] = {}, high[64] = {};
#pragma unroll 1
    for (int step = 0; step < N / DEEP; ++step) {
        copy_stage(base, q, k, step);
        copies_wait<0>();  // FAULT
        show_to_wgmma();
        __syncthreads();  // FAULT
        wgmma_begin();
        multiply_stage(low, high, base);
        wgmma_end();
        wgmma_wait();
        __syncthreads();
    }
    store_tile(low, high, out, N, 1);
}

extern "C" __global__ void __launch_bounds__(256, 1) scores_one_stage_fix(const half *q, const half *k, float *out) {
    uint32_t base = (address_of(stages) + 1023) & ~1023u;
    float low[64] = {}, high[64] = {};
    for (int s = 0; s < 3; ++s) copy_stage(base + s * STAGE, q, k, s);
#pragma unroll 1
    for (int step = 0; step < N / DEEP; ++step) {
        copies_wait<2>();
        show_to_wgmma();
        __syncthreads();  // all have multiplied the stage before this one
        if (step + 3 < N / DEEP) copy_stage(base + (step + 3) % 4 * STAGE, q, k, step + 3);
        else copies_end();
        wgmma_begin();
        multiply_stage(low, high, base + step % 4 * STAGE);
        wgmma_end();
        wgmma_wait();
    }
    store_tile(low, high, out, N, 1);
}

CASE(scores_one_stage, OUT, (long)HEADS *N *N, 1, "scores_keys_in_place", allow_shared(scores_one_stage, STAGE + 1024);
     scores_one_stage<<<dim3(8, 16, HEADS), 256, STAGE + 1024>>>(HALF_A, HALF_B, OUT))
CASE(scores_one_stage_fix, OUT, (long)HEADS *N *N, 1, "scores_one_stage",
     allow_shared(scores_one_stage_fix, 4 * STAGE + 1024);
     scores_one_stage_fix<<<dim3(8, 16, HEADS), 256, 4 * STAGE + 1024>>>(HALF_A, HALF_B, OUT))

constexpr int ROUNDS = 96, RESIDENT_ROWS = 11 * 128, RESIDENT_COLUMNS = 12 * 256;  // 132 blocks

// Healthy: four stages stay in shared memory and are multiplied over and over, eight products under way at a time.
extern "C" __global__ void __launch_bounds__(256, 1) healthy_resident_wgmma(const half *q, const half *k, float *out) {
    uint32_t base = (address_of(stages) + 1023) & ~1023u;
    float low[64] = {}, high[64] = {};
    for (int s = 0; s < 4; ++s) copy_stage(base + s * STAGE, q, k, s);
    copies_wait<0>();
    show_to_wgmma();
    __syncthreads();
#pragma unroll 1
    for (int round = 0; round < ROUNDS; ++round) {
        wgmma_begin();
#pragma unroll
        for (int s = 0; s < 4; ++s) multiply_stage(low, high, base + s * STAGE);
        wgmma_end();
        wgmma_wait();
    }
    store_tile(low, high, out, RESIDENT_COLUMNS, 1.0f / ROUNDS);
}

CASE(healthy_resident_wgmma, OUT, (long)RESIDENT_ROWS *RESIDENT_COLUMNS, 1, nullptr,
     allow_shared(healthy_resident_wgmma, 4 * STAGE + 1024);
     healthy_resident_wgmma<<<dim3(12, 11), 256, 4 * STAGE + 1024>>>(HALF_A, HALF_B, OUT))
