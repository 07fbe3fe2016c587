// Pipes at their limit, and matrix products.
#include <mma.h>

#include "gallery.cuh"

// ---- one pipe

constexpr int THREADS = SMS * 8 * 256;

// A product and a sum, rounded one by one, where one instruction does both.
extern "C" __global__ void __launch_bounds__(256) pipe_fma_unfused(const float *in, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float a[8];
    for (int k = 0; k < 8; ++k) a[k] = in[i + k];
#pragma unroll 4
    for (int r = 0; r < 1024; ++r)
#pragma unroll
        for (int k = 0; k < 8; ++k) a[k] = __fadd_rn(__fmul_rn(a[k], 0.5f), 1.0f + k);  // FAULT
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += a[k];
    out[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256) pipe_fma_unfused_fix(const float *in, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float a[8];
    for (int k = 0; k < 8; ++k) a[k] = in[i + k];
#pragma unroll 4
    for (int r = 0; r < 1024; ++r)
#pragma unroll
        for (int k = 0; k < 8; ++k) a[k] = fmaf(a[k], 0.5f, 1.0f + k);
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += a[k];
    out[i] = sum;
}

CASE(pipe_fma_unfused, OUT, THREADS, 1, nullptr, pipe_fma_unfused<<<THREADS / 256, 256>>>(A, OUT))
CASE(pipe_fma_unfused_fix, OUT, THREADS, 1, "pipe_fma_unfused", pipe_fma_unfused_fix<<<THREADS / 256, 256>>>(A, OUT))

extern "C" __global__ void __launch_bounds__(256) pipe_alu_hash(const unsigned *in, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    unsigned a = in[i] + i, b = a ^ 0x9e3779b9u, c = a + 77, d = b + 99;
#pragma unroll 4
    for (int r = 0; r < 256; ++r) {
        a ^= __funnelshift_l(a, a, 13), b ^= __funnelshift_l(b, b, 13);  // FAULT
        c ^= __funnelshift_l(c, c, 17), d ^= __funnelshift_l(d, d, 17);  // FAULT
        a = min(a, ~b), b = max(b, c & 0x7fffffffu);                     // FAULT
        c = (c & a) | (~c & d), d = (d & b) ^ (a | c);                   // FAULT
    }
    out[i] = float((a ^ b ^ c ^ d) & 1023);
}

CASE(pipe_alu_hash, OUT, THREADS, 1, nullptr, pipe_alu_hash<<<THREADS / 256, 256>>>(ROWS, OUT))

// Doubles between floats that come in and floats that go out.
extern "C" __global__ void __launch_bounds__(256) pipe_fp64_for_floats(const float *in, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    double a[4];
    for (int k = 0; k < 4; ++k) a[k] = in[i + k];
#pragma unroll 4
    for (int r = 0; r < 1024; ++r)
#pragma unroll
        for (int k = 0; k < 4; ++k) a[k] = fma(a[k], 0.5, 1.0 + k);  // FAULT
    out[i] = float(a[0] + a[1] + a[2] + a[3]);
}

extern "C" __global__ void __launch_bounds__(256) pipe_fp64_for_floats_fix(const float *in, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float a[4];
    for (int k = 0; k < 4; ++k) a[k] = in[i + k];
#pragma unroll 4
    for (int r = 0; r < 1024; ++r)
#pragma unroll
        for (int k = 0; k < 4; ++k) a[k] = fmaf(a[k], 0.5f, 1.0f + k);
    out[i] = a[0] + a[1] + a[2] + a[3];
}

CASE(pipe_fp64_for_floats, OUT, THREADS, 1, nullptr, pipe_fp64_for_floats<<<THREADS / 256, 256>>>(A, OUT))
CASE(pipe_fp64_for_floats_fix, OUT, THREADS, 1, "pipe_fp64_for_floats",
     pipe_fp64_for_floats_fix<<<THREADS / 256, 256>>>(A, OUT))

extern "C" __global__ void __launch_bounds__(256) pipe_xu_sines(const float *in, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float a[4];
    for (int k = 0; k < 4; ++k) a[k] = in[i + k];
#pragma unroll 4
    for (int r = 0; r < 256; ++r)
#pragma unroll
        for (int k = 0; k < 4; ++k) a[k] = __sinf(a[k] + 1.0f);  // FAULT
    out[i] = a[0] + a[1] + a[2] + a[3];
}

CASE(pipe_xu_sines, OUT, THREADS, 1, nullptr, pipe_xu_sines<<<THREADS / 256, 256>>>(A, OUT))

// The remainder by a number known only at run time.
extern "C" __global__ void __launch_bounds__(256) pipe_xu_integer_division(const unsigned *in, float *out,
                                                                          unsigned modulus) {
    int i = blockIdx.x * 256 + threadIdx.x;
    unsigned a = in[i] + i, b = a * 5, sum = 0;
#pragma unroll 2
    for (int r = 0; r < 128; ++r) {
        unsigned divisor = modulus + (r & 3) + (i & 1);
        sum += a % divisor + b % (divisor + 8);  // FAULT
        a = a * 1664525u + 1013904223u, b = b * 22695477u + 1;
    }
    out[i] = float(sum & 0xffff);
}

// There are eight divisors: their reciprocals are worked out once.
struct Reciprocal {
    unsigned divisor, inverse;
};

__device__ __forceinline__ unsigned remainder_by(unsigned v, Reciprocal r) {
    unsigned quotient = __umulhi(v, r.inverse);
    unsigned rest = v - quotient * r.divisor;
    return rest >= r.divisor ? rest - r.divisor : rest;
}

extern "C" __global__ void __launch_bounds__(256, 8) pipe_xu_integer_division_fix(const unsigned *in, float *out,
                                                                              unsigned modulus) {
    int i = blockIdx.x * 256 + threadIdx.x;
    Reciprocal first[4], second[4];
    for (int k = 0; k < 4; ++k) {
        first[k].divisor = modulus + k + (i & 1), second[k].divisor = first[k].divisor + 8;
        first[k].inverse = 0xffffffffu / first[k].divisor;
        second[k].inverse = 0xffffffffu / second[k].divisor;
    }
    unsigned a = in[i] + i, b = a * 5, sum = 0;
#pragma unroll 1
    for (int r = 0; r < 128; r += 4)
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            sum += remainder_by(a, first[k]) + remainder_by(b, second[k]);
            a = a * 1664525u + 1013904223u, b = b * 22695477u + 1;
        }
    out[i] = float(sum & 0xffff);
}

CASE(pipe_xu_integer_division, OUT, THREADS, 1, nullptr,
     pipe_xu_integer_division<<<THREADS / 256, 256>>>(ROWS, OUT, 1009))
CASE(pipe_xu_integer_division_fix, OUT, THREADS, 1, "pipe_xu_integer_division",
     pipe_xu_integer_division_fix<<<THREADS / 256, 256>>>(ROWS, OUT, 1009))

// Shuffles, which the load and store unit carries out.
extern "C" __global__ void __launch_bounds__(256) pipe_lsu_shuffles(const float *in, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float a = in[i], b = in[i + 1], c = in[i + 2], d = in[i + 3];
#pragma unroll 4
    for (int r = 0; r < 256; ++r) {
        a += __shfl_xor_sync(~0u, a, 1), b += __shfl_xor_sync(~0u, b, 2);  // FAULT
        c += __shfl_xor_sync(~0u, c, 4), d += __shfl_xor_sync(~0u, d, 8);  // FAULT
        a *= 0.25f, b *= 0.25f, c *= 0.25f, d *= 0.25f;
    }
    out[i] = 1.0f + a + b + c + d;
}

CASE(pipe_lsu_shuffles, OUT, THREADS, 1, nullptr, pipe_lsu_shuffles<<<THREADS / 256, 256>>>(A, OUT))

// Sixteen exponentials a quad keep the special functions half busy; DRAM is the limit.
extern "C" __global__ void __launch_bounds__(256) pipe_half_busy_beside_dram(const float4 *__restrict__ in,
                                                                            float4 *out) {
    long i = blockIdx.x * 512L + threadIdx.x;
    float4 both[2] = {in[i], in[i + 256]};
    for (float4 &v : both)
        for (int k = 0; k < 4; ++k) v = make_float4(__expf(-v.x), __expf(-v.y), __expf(-v.z), __expf(-v.w));
    out[i] = both[0], out[i + 256] = both[1];
}

CASE(pipe_half_busy_beside_dram, OUT, BIG, 1, nullptr,
     pipe_half_busy_beside_dram<<<BIG / 2048, 256>>>((float4 *)A, (float4 *)OUT))

// ---- healthy: sums of products at the rate of the pipe

extern "C" __global__ void __launch_bounds__(256) healthy_polynomial(const float4 *in, float4 *out) {
    long i = blockIdx.x * 256L + threadIdx.x;
    float4 a = in[i], x = make_float4(0.03f * a.x, 0.04f * a.y, 0.05f * a.z, 0.06f * a.w);
    float4 b = make_float4(a.y, a.z, a.w, a.x);
#pragma unroll 8
    for (int r = 0; r < 1024; ++r) {
        a = make_float4(fmaf(a.x, x.x, 0.5f), fmaf(a.y, x.y, 0.5f), fmaf(a.z, x.z, 0.5f), fmaf(a.w, x.w, 0.5f));
        b = make_float4(fmaf(b.x, x.w, 0.5f), fmaf(b.y, x.z, 0.5f), fmaf(b.z, x.z, 0.5f), fmaf(b.w, x.w, 0.5f));
    }
    out[i] = make_float4(fminf(a.x, b.x), fminf(a.y, b.y), fminf(a.z, b.z), fminf(a.w, b.w));
}

CASE(healthy_polynomial, OUT, THREADS * 4, 1, nullptr,
     healthy_polynomial<<<THREADS / 256, 256>>>((float4 *)A, (float4 *)OUT))

// ---- matrix products: 2,048 x 2,048 results of 1,024 terms each, C = A B, all row by row

constexpr int N = 2048, DEPTH = 1024;  // N is also the distance between rows

// A tile of 128 x 128, 8 x 8 sums a thread, on the pipe for sums and products; the next operands come meanwhile.
template <typename Element>
__device__ __forceinline__ void tiled_product(const Element *__restrict__ a, const Element *__restrict__ b, float *c) {
    __shared__ float left[8][132], right[8][128];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    const Element *rows = a + (blockIdx.y * 128L + threadIdx.x / 8) * N + threadIdx.x % 8;
    const Element *columns = b + threadIdx.x / 128 * long(N) + blockIdx.x * 128 + threadIdx.x % 128;
    float sums[8][8] = {};
    Element la[4], rb[4];
#pragma unroll
    for (int q = 0; q < 4; ++q) la[q] = rows[q * 32L * N], rb[q] = columns[q * 2L * N];
#pragma unroll 1
    for (int k = 0; k < DEPTH; k += 8) {
        __syncthreads();
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            left[threadIdx.x % 8][threadIdx.x / 8 + q * 32] = float(la[q]);
            right[threadIdx.x / 128 + q * 2][threadIdx.x % 128] = float(rb[q]);
        }
        __syncthreads();
        rows += 8, columns += 8L * N;
        if (k + 8 < DEPTH) {
#pragma unroll
            for (int q = 0; q < 4; ++q) la[q] = rows[q * 32L * N], rb[q] = columns[q * 2L * N];
        }
#pragma unroll
        for (int d = 0; d < 8; ++d) {
            float4 l0 = *(float4 *)&left[d][ty * 4], l1 = *(float4 *)&left[d][64 + ty * 4];
            float4 r0 = *(float4 *)&right[d][tx * 4], r1 = *(float4 *)&right[d][64 + tx * 4];
            float l[8] = {l0.x, l0.y, l0.z, l0.w, l1.x, l1.y, l1.z, l1.w};
            float r[8] = {r0.x, r0.y, r0.z, r0.w, r1.x, r1.y, r1.z, r1.w};
#pragma unroll
            for (int m = 0; m < 8; ++m)
#pragma unroll
                for (int n = 0; n < 8; ++n) sums[m][n] = fmaf(l[m], r[n], sums[m][n]);  // FAULT
        }
    }
#pragma unroll
    for (int m = 0; m < 8; ++m) {
        float *row = c + (blockIdx.y * 128L + m / 4 * 64 + ty * 4 + m % 4) * N + blockIdx.x * 128 + tx * 4;
        *(float4 *)row = make_float4(sums[m][0], sums[m][1], sums[m][2], sums[m][3]);
        *(float4 *)(row + 64) = make_float4(sums[m][4], sums[m][5], sums[m][6], sums[m][7]);
    }
}

extern "C" __global__ void __launch_bounds__(256, 2) matrix_halves_without_tensor(const half *a, const half *b,
                                                                                 float *c) {
    tiled_product(a, b, c);
}

// Floats, which tensor cores take only rounded: this is as it should be.
extern "C" __global__ void __launch_bounds__(256, 2) healthy_float_product(const float *a, const float *b, float *c) {
    tiled_product(a, b, c);
}

extern "C" __global__ void __maxnreg__(80) spill_register_tile(const float *a, const float *b,
                                                                                     float *c) {
    tiled_product(a, b, c);
}

CASE(matrix_halves_without_tensor, OUT, N *N, 1, nullptr,
     matrix_halves_without_tensor<<<dim3(N / 128, N / 128), 256>>>(HALF_A, HALF_B, OUT))
CASE(healthy_float_product, OUT, N *N, 1, nullptr,
     healthy_float_product<<<dim3(N / 128, N / 128), 256>>>(A, B, OUT))
CASE(spill_register_tile, OUT, N *N, 1, "healthy_float_product",
     spill_register_tile<<<dim3(N / 128, N / 128), 256>>>(A, B, OUT))

// Pairs of halves, multiplied and summed up as pairs for 32 terms (exactly: multiples of 1/64 below 32), then as floats.
extern "C" __global__ void __launch_bounds__(256, 2) matrix_pairs_of_halves(const half *__restrict__ a,
                                                                      const half2 *__restrict__ b, float2 *c) {
    __shared__ half2 left[32][64], right[32][64];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16, y = threadIdx.x % 64, x = threadIdx.x / 64 * 8;
    float2 sums[4][4] = {};
#pragma unroll 1
    for (int k = 0; k < DEPTH; k += 32) {
        uint4 eight = *(const uint4 *)(a + (blockIdx.y * 64L + y) * N + k + x);
        half2 rb[8];
#pragma unroll
        for (int q = 0; q < 8; ++q) rb[q] = b[(k + threadIdx.x / 64 + q * 4) * (N / 2L) + blockIdx.x * 64 + y];
        __syncthreads();
#pragma unroll
        for (int q = 0; q < 8; ++q) {
            left[x + q][y] = __half2half2(((half *)&eight)[q]);
            right[threadIdx.x / 64 + q * 4][y] = rb[q];
        }
        __syncthreads();
        half2 part[4][4] = {};
#pragma unroll 8
        for (int d = 0; d < 32; ++d) {
            uint4 l = *(uint4 *)&left[d][ty * 4], r = *(uint4 *)&right[d][tx * 4];
#pragma unroll
            for (int m = 0; m < 4; ++m)
#pragma unroll
                for (int n = 0; n < 4; ++n)
                    part[m][n] = __hfma2(((half2 *)&l)[m], ((half2 *)&r)[n], part[m][n]);  // FAULT
        }
#pragma unroll
        for (int m = 0; m < 4; ++m)
#pragma unroll
            for (int n = 0; n < 4; ++n) {
                float2 p = __half22float2(part[m][n]);
                sums[m][n].x += p.x, sums[m][n].y += p.y;
            }
    }
#pragma unroll
    for (int m = 0; m < 4; ++m)
#pragma unroll
        for (int n = 0; n < 4; ++n)
            c[(blockIdx.y * 64L + ty * 4 + m) * (N / 2) + blockIdx.x * 64 + tx * 4 + n] = sums[m][n];
}

CASE(matrix_pairs_of_halves, OUT, N *N, 1, "matrix_halves_without_tensor",
     matrix_pairs_of_halves<<<dim3(N / 128, N / 64), 256>>>(HALF_A, (half2 *)HALF_B, (float2 *)OUT))

using namespace nvcuda;
using Left = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>;
using Right = wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major>;
using Sums = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

// Every warp loads its own operands from global memory, 32 x 32 results each.
extern "C" __global__ void __launch_bounds__(128) tensor_straight_from_global(const half *a, const half *b, float *c) {
    int warp = threadIdx.x / 32;
    long y = blockIdx.y * 64 + warp / 2 * 32, x = blockIdx.x * 64 + warp % 2 * 32;
    Sums sums[2][2];
    for (int m = 0; m < 2; ++m)
        for (int n = 0; n < 2; ++n) wmma::fill_fragment(sums[m][n], 0.0f);
#pragma unroll 1
    for (int k = 0; k < DEPTH; k += 16) {
        Left l[2];
        Right r[2];
        for (int m = 0; m < 2; ++m) wmma::load_matrix_sync(l[m], a + (y + m * 16) * N + k, N);  // FAULT
        for (int n = 0; n < 2; ++n) wmma::load_matrix_sync(r[n], b + long(k) * N + x + n * 16, N);  // FAULT
        for (int m = 0; m < 2; ++m)
            for (int n = 0; n < 2; ++n) wmma::mma_sync(sums[m][n], l[m], r[n], sums[m][n]);  // FAULT
    }
    for (int m = 0; m < 2; ++m)
        for (int n = 0; n < 2; ++n)
            wmma::store_matrix_sync(c + (y + m * 16) * N + x + n * 16, sums[m][n], N, wmma::mem_row_major);
}

CASE(tensor_straight_from_global, OUT, N *N, 1, "matrix_halves_without_tensor",
     tensor_straight_from_global<<<dim3(N / 64, N / 64), 128>>>(HALF_A, HALF_B, OUT))

// A tile of 128 x 128 through shared memory, one buffer: load, wait, multiply with the older instruction.
extern "C" __global__ void __launch_bounds__(256) tensor_older_instruction(const half *__restrict__ a,
                                                                          const half *__restrict__ b, float *c) {
    __shared__ alignas(32) half left[128][40], right[32][136];
    int warp = threadIdx.x / 32, y = warp / 4 * 64, x = warp % 4 * 32;
    Sums sums[4][2];
    for (int m = 0; m < 4; ++m)
        for (int n = 0; n < 2; ++n) wmma::fill_fragment(sums[m][n], 0.0f);
#pragma unroll 1
    for (int k = 0; k < DEPTH; k += 32) {
        uint4 la[2], rb[2];
        for (int q = 0; q < 2; ++q) {
            int at = threadIdx.x + q * 256;
            la[q] = *(const uint4 *)(a + (blockIdx.y * 128L + at / 4) * N + k + at % 4 * 8);
            rb[q] = *(const uint4 *)(b + (k + at / 16L) * N + blockIdx.x * 128 + at % 16 * 8);
        }
        __syncthreads();
        for (int q = 0; q < 2; ++q) {
            int at = threadIdx.x + q * 256;
            *(uint4 *)&left[at / 4][at % 4 * 8] = la[q];
            *(uint4 *)&right[at / 16][at % 16 * 8] = rb[q];
        }
        __syncthreads();
        for (int d = 0; d < 32; d += 16) {
            Left l[4];
            Right r[2];
            for (int m = 0; m < 4; ++m) wmma::load_matrix_sync(l[m], &left[y + m * 16][d], 40);
            for (int n = 0; n < 2; ++n) wmma::load_matrix_sync(r[n], &right[d][x + n * 16], 136);
            for (int m = 0; m < 4; ++m)
                for (int n = 0; n < 2; ++n) wmma::mma_sync(sums[m][n], l[m], r[n], sums[m][n]);  // FAULT
        }
    }
    for (int m = 0; m < 4; ++m)
        for (int n = 0; n < 2; ++n)
            wmma::store_matrix_sync(c + (blockIdx.y * 128L + y + m * 16) * N + blockIdx.x * 128 + x + n * 16,
                                    sums[m][n], N, wmma::mem_row_major);
}

CASE(tensor_older_instruction, OUT, N *N, 1, "matrix_halves_without_tensor",
     tensor_older_instruction<<<dim3(N / 128, N / 128), 256>>>(HALF_A, HALF_B, OUT))

// ---- healthy: the tensor cores at their rate, with the instruction of this chip, on one tile in shared memory

#define FOUR(s, k) "+f"(s[k]), "+f"(s[k + 1]), "+f"(s[k + 2]), "+f"(s[k + 3])
#define SIXTEEN(s, k) FOUR(s, k), FOUR(s, k + 4), FOUR(s, k + 8), FOUR(s, k + 12)
#define SIXTY_FOUR(s, k) SIXTEEN(s, k), SIXTEEN(s, k + 16), SIXTEEN(s, k + 32), SIXTEEN(s, k + 48)

__device__ __forceinline__ unsigned long long operand(const half *tile) {
    unsigned long long at = __cvta_generic_to_shared(tile);
    return at >> 4 | 128ull / 16 << 16 | 256ull / 16 << 32;  // cores of 8 x 8 halves, 128 bytes each, no swizzle
}

extern "C" __global__ void __launch_bounds__(256) healthy_tensor_rate(const half *in, float *out, int rounds) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL  // nvcc may translate for plain sm_90 as well, which has no wgmma
    __shared__ alignas(1024) half left[2][64 * 16], right[256 * 16];
    for (int k = threadIdx.x; k < 64 * 16 * 2; k += 256) left[k / 1024][k % 1024] = in[0] + half(0.125f);
    for (int k = threadIdx.x; k < 256 * 16; k += 256) right[k] = half(0.125f);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    float s[128] = {};
    unsigned long long l = operand(left[threadIdx.x / 128]), r = operand(right);
#pragma unroll 1
    for (int k = 0; k < rounds; ++k) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int q = 0; q < 8; ++q)
            asm volatile(
            "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
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
            : "l"(l), "l"(r));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 128; ++k) sum += s[k];
    out[blockIdx.x * 256 + threadIdx.x] = sum;
#endif
}

CASE(healthy_tensor_rate, OUT, SMS * 256, 1, nullptr, healthy_tensor_rate<<<SMS, 256>>>(HALF_A, OUT, 256))
