// Blind part, what happens on the chip: banks, L1, L2, constants, local memory, atomics, waits in front of memory.
// Expected times take DRAM at 4.3 TB/s, 132 SMs, 1.7 GHz; they were written before anything was measured.
#include "../gallery.cuh"

// ---- banks of shared memory

// Running sums of stretches of 32, each walked by one thread in shared memory: 32 words apart, 32 wavefronts an access.
// 2 x 67 MB: 31 µs of DRAM; 2.06 wavefronts an element (a read and a write of 32 each a warp) are 262,000 clocks an SM:
// 154 µs.
constexpr int SCANNED = 16 << 20;

template <int PITCH>
__device__ __forceinline__ void scan_stretches(const float *__restrict__ in, float *out, float *staged) {
    long first = blockIdx.x * 4096L;
#pragma unroll 8
    for (int k = threadIdx.x; k < 4096; k += 128) staged[k / 32 * PITCH + k % 32] = in[first + k];
    __syncthreads();
    float *own = staged + threadIdx.x * PITCH, sum = 0;
#pragma unroll 8
    for (int k = 0; k < 32; ++k) {
        sum += own[k];  // FAULT
        own[k] = sum;  // FAULT
    }
    __syncthreads();
#pragma unroll 8
    for (int k = threadIdx.x; k < 4096; k += 128) out[first + k] = staged[k / 32 * PITCH + k % 32];
}

extern "C" __global__ void __launch_bounds__(128) scan_by_stretches(const float *__restrict__ in, float *out) {
    __shared__ float staged[128 * 32];
    scan_stretches<32>(in, out, staged);
}

extern "C" __global__ void __launch_bounds__(128) scan_by_stretches_fix(const float *__restrict__ in, float *out) {
    __shared__ float staged[128 * 33];
    scan_stretches<33>(in, out, staged);
}

CASE(scan_by_stretches, OUT, SCANNED, 1, nullptr, scan_by_stretches<<<SCANNED / 4096, 128>>>(A, OUT))
CASE(scan_by_stretches_fix, OUT, SCANNED, 1, "scan_by_stretches",
     scan_by_stretches_fix<<<SCANNED / 4096, 128>>>(A, OUT))

// ---- L1

// The product as the textbook has it: two loads for each sum of products, floats. 1,024^3 / 32 trips of a warp with two
// loads are 508,000 wavefronts an SM: 300 µs; the sums of products alone would be 37 µs, DRAM 3 µs.
constexpr int EDGE = 1024;

extern "C" __global__ void __launch_bounds__(512) matmul_textbook(const float *__restrict__ a,
                                                                 const float *__restrict__ b, float *c) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
#pragma unroll 4
    for (int k = 0; k < EDGE; ++k) sum = fmaf(a[y * EDGE + k], b[k * EDGE + x], sum);  // FAULT
    c[y * EDGE + x] = sum;
}

// Tiles of 64 x 32 in shared memory, 4 x 2 sums a thread in registers.
extern "C" __global__ void __launch_bounds__(256) matmul_textbook_fix(const float *__restrict__ a,
                                                                     const float *__restrict__ b, float *c) {
    __shared__ __align__(16) float left[16][68];
    __shared__ __align__(16) float right[16][32];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float sums[4][2] = {};
#pragma unroll 1
    for (int k = 0; k < EDGE; k += 16) {
        __syncthreads();
#pragma unroll
        for (int q = 0; q < 4; ++q) left[tx][ty + q * 16] = a[(blockIdx.y * 64 + ty + q * 16) * EDGE + k + tx];
#pragma unroll
        for (int q = 0; q < 2; ++q) {
            int at = threadIdx.x + q * 256;
            right[at / 32][at % 32] = b[(k + at / 32) * EDGE + blockIdx.x * 32 + at % 32];
        }
        __syncthreads();
#pragma unroll
        for (int d = 0; d < 16; ++d) {
            float4 l = *(float4 *)&left[d][ty * 4];
            float2 r = *(float2 *)&right[d][tx * 2];
            sums[0][0] = fmaf(l.x, r.x, sums[0][0]), sums[0][1] = fmaf(l.x, r.y, sums[0][1]);
            sums[1][0] = fmaf(l.y, r.x, sums[1][0]), sums[1][1] = fmaf(l.y, r.y, sums[1][1]);
            sums[2][0] = fmaf(l.z, r.x, sums[2][0]), sums[2][1] = fmaf(l.z, r.y, sums[2][1]);
            sums[3][0] = fmaf(l.w, r.x, sums[3][0]), sums[3][1] = fmaf(l.w, r.y, sums[3][1]);
        }
    }
#pragma unroll
    for (int m = 0; m < 4; ++m)
        *(float2 *)(c + (blockIdx.y * 64 + ty * 4 + m) * EDGE + blockIdx.x * 32 + tx * 2) =
            make_float2(sums[m][0], sums[m][1]);
}

CASE(matmul_textbook, OUT, EDGE *EDGE, 1, nullptr,
     matmul_textbook<<<dim3(EDGE / 32, EDGE / 16), dim3(32, 16)>>>(A, B, OUT))
CASE(matmul_textbook_fix, OUT, EDGE *EDGE, 1, "matmul_textbook",
     matmul_textbook_fix<<<dim3(EDGE / 32, EDGE / 64), 256>>>(A, B, OUT))

// ---- L2

// 32 heads of queries over the same 20 MiB of keys, a block a head and stretch: 671 MB out of L2, about 120 µs at 5.5
// TB/s; DRAM moves 20 MiB and 10 MB of scores: 7 µs. Neighbouring blocks are on other SMs, so L1 has nothing of it.
constexpr int HEADS = 32, KEYS = 81920, KEYS_A_BLOCK = 256;

__device__ __forceinline__ float of_half_warp(float v) {
    for (int d = 8; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

__device__ __forceinline__ float inner4(float4 a, float4 b) {
    return (a.x * b.x + a.y * b.y) + (a.z * b.z + a.w * b.w);
}

extern "C" __global__ void __launch_bounds__(256) scores_head_by_head(const float4 *__restrict__ keys,
                                                                     const float4 *__restrict__ queries, float *out) {
    int head = blockIdx.x % HEADS, part = threadIdx.x % 16;
    int first = blockIdx.x / HEADS * KEYS_A_BLOCK + threadIdx.x / 16;
    float4 query = queries[head * 16 + part];
#pragma unroll 8
    for (int k = 0; k < KEYS_A_BLOCK; k += 16) {
        float sum = of_half_warp(inner4(keys[(first + k) * 16L + part], query));  // FAULT
        if (part == 0) out[head * long(KEYS) + first + k] = sum;
    }
}

// A block takes its stretch once for all heads.
extern "C" __global__ void __launch_bounds__(256) scores_head_by_head_fix(const float4 *__restrict__ keys,
                                                                         const float4 *__restrict__ queries,
                                                                         float *out) {
    __shared__ float4 staged[HEADS * 16];
    for (int k = threadIdx.x; k < HEADS * 16; k += 256) staged[k] = queries[k];
    __syncthreads();
    int part = threadIdx.x % 16, key = blockIdx.x * 16 + threadIdx.x / 16;
    float4 own = keys[key * 16L + part];
#pragma unroll 8
    for (int head = 0; head < HEADS; ++head) {
        float sum = of_half_warp(inner4(own, staged[head * 16 + part]));
        if (part == 0) out[head * long(KEYS) + key] = sum;
    }
}

CASE(scores_head_by_head, OUT, long(HEADS) * KEYS, 1, nullptr,
     scores_head_by_head<<<KEYS / KEYS_A_BLOCK * HEADS, 256>>>((float4 *)A, (float4 *)B, OUT))
CASE(scores_head_by_head_fix, OUT, long(HEADS) * KEYS, 1, "scores_head_by_head",
     scores_head_by_head_fix<<<KEYS / 16, 256>>>((float4 *)A, (float4 *)B, OUT))

// ---- constants

__constant__ float CODES[16] = {-1.0f, -0.6962f, -0.5251f, -0.3949f, -0.2844f, -0.1848f, -0.0911f, 0.0f,
                                0.0796f, 0.1609f, 0.2461f, 0.3379f, 0.4407f, 0.5626f, 0.7230f, 1.0f};
constexpr int PACKED = SMS * 8 * 256, PACKED_EACH = 16;

__device__ __forceinline__ unsigned packed_word(unsigned i, float v) {
    i = (i + unsigned(v)) * 2654435761u;
    i ^= i >> 15;
    return i * 0x846ca68bu;
}

// Weights of four bits through a table of 16 constants: 14 addresses a warp for each of 128 lookups a thread. 17 MB: 4
// µs of DRAM; 8,192 lookups of a warp an SM, 14 passes each, two clocks a pass and more: 135 µs.
extern "C" __global__ void __launch_bounds__(256) codebook_in_constants(const float *__restrict__ in, float *out) {
    unsigned i = blockIdx.x * 256 + threadIdx.x;
    float sum = 0;
#pragma unroll 2
    for (int r = 0; r < PACKED_EACH; ++r) {
        float v = in[i + r * PACKED];
        unsigned w = packed_word(i + r * PACKED, v);
#pragma unroll
        for (int k = 0; k < 8; ++k) sum = fmaf(CODES[w >> 4 * k & 15], v + k, sum);  // FAULT
    }
    out[i] = sum;
}

// The same table in shared memory: sixteen words in sixteen banks.
extern "C" __global__ void __launch_bounds__(256) codebook_in_constants_fix(const float *__restrict__ in, float *out) {
    __shared__ float codes[16];
    if (threadIdx.x < 16) codes[threadIdx.x] = CODES[threadIdx.x];
    __syncthreads();
    unsigned i = blockIdx.x * 256 + threadIdx.x;
    float sum = 0;
#pragma unroll 2
    for (int r = 0; r < PACKED_EACH; ++r) {
        float v = in[i + r * PACKED];
        unsigned w = packed_word(i + r * PACKED, v);
#pragma unroll
        for (int k = 0; k < 8; ++k) sum = fmaf(codes[w >> 4 * k & 15], v + k, sum);
    }
    out[i] = sum;
}

CASE(codebook_in_constants, OUT, PACKED, 1, nullptr, codebook_in_constants<<<PACKED / 256, 256>>>(A, OUT))
CASE(codebook_in_constants_fix, OUT, PACKED, 1, "codebook_in_constants",
     codebook_in_constants_fix<<<PACKED / 256, 256>>>(A, OUT))

// A near miss: one lookup at eight addresses for two quads a thread, 2 x 512 MiB. A warp's 2 KiB are 108 clocks of
// DRAM, its lookup 16 to 32.
extern "C" __global__ void __launch_bounds__(256) gain_from_constants(const float4 *__restrict__ in, float4 *out) {
    long i = blockIdx.x * 512L + threadIdx.x;
    float4 a = in[i], b = in[i + 256];
    float gain = CODES[int(a.x) & 7];
    out[i] = make_float4(a.x * gain, a.y * gain, a.z * gain, a.w * gain);
    out[i + 256] = make_float4(b.x * gain, b.y * gain, b.z * gain, b.w * gain);
}

CASE(gain_from_constants, OUT, BIG, 1, nullptr, gain_from_constants<<<BIG / 2048, 256>>>((float4 *)A, (float4 *)OUT))

// ---- local memory

// A filter of 32 taps over the last 32 values of a channel, which a thread keeps in a ring: its index is known at run
// time, so the ring is in local memory. 2 x 35 MB: 16 µs of DRAM; 32 steps x 33 local accesses are 67,600 wavefronts an
// SM at least (40 µs), and rings of 256 KiB an SM do not stay in L1: 100 µs and more.
constexpr int CHANNELS = SMS * 8 * 256, STEPS_A_CHANNEL = 32, TAPS_OF_RING = 32;
__constant__ float TAPS[TAPS_OF_RING] = {1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, 1,
                                         1, 3, 5, 7, 7, 5, 3, 1, 2, 4, 6, 8, 8, 6, 4, 2};

extern "C" __global__ void __launch_bounds__(256) filter_with_ring(const float *__restrict__ in, float *out, int mask) {
    float ring[TAPS_OF_RING];
#pragma unroll
    for (int k = 0; k < TAPS_OF_RING; ++k) ring[k] = 0;
    int i = blockIdx.x * 256 + threadIdx.x;
#pragma unroll 1
    for (int t = 0; t < STEPS_A_CHANNEL; ++t) {
        ring[t & mask] = in[t * CHANNELS + i];  // FAULT
        float sum = 0;
#pragma unroll 8
        for (int k = 0; k < TAPS_OF_RING; ++k) sum = fmaf(TAPS[k], ring[(t - k) & mask], sum);  // FAULT
        out[t * CHANNELS + i] = sum;
    }
}

// Everything unrolled: the values stay in registers.
extern "C" __global__ void __launch_bounds__(256) filter_with_ring_fix(const float *__restrict__ in, float *out) {
    float x[STEPS_A_CHANNEL];
    int i = blockIdx.x * 256 + threadIdx.x;
#pragma unroll
    for (int t = 0; t < STEPS_A_CHANNEL; ++t) x[t] = in[t * CHANNELS + i];
#pragma unroll
    for (int t = 0; t < STEPS_A_CHANNEL; ++t) {
        float sum = 0;
#pragma unroll
        for (int k = 0; k <= t; ++k) sum = fmaf(TAPS[k], x[t - k], sum);
        out[t * CHANNELS + i] = sum;
    }
}

CASE(filter_with_ring, OUT, CHANNELS *STEPS_A_CHANNEL, 1, nullptr,
     filter_with_ring<<<CHANNELS / 256, 256>>>(A, OUT, TAPS_OF_RING - 1))
CASE(filter_with_ring_fix, OUT, CHANNELS *STEPS_A_CHANNEL, 1, "filter_with_ring",
     filter_with_ring_fix<<<CHANNELS / 256, 256>>>(A, OUT))

// ---- atomics

// The largest of 270,336 values and its place, packed into one word of 64 bits: an atomic a value, all on one word. At
// one a clock of L2 that is 160 µs; 1 MB of values is nothing.
extern "C" __global__ void __launch_bounds__(256) argmax_one_word(const float *in, unsigned long long *best) {
    unsigned i = blockIdx.x * 256 + threadIdx.x;
    unsigned long long key = (unsigned long long)__float_as_uint(in[i] + 1.0f) << 32 | i;
    atomicMax(best, key);  // FAULT
}

// The upper half is a float, which is what is compared.
CASE(argmax_one_word, (float *)SMALL + 1, 1, 1, nullptr,
     argmax_one_word<<<SMS * 8, 256>>>(A, (unsigned long long *)SMALL))

// Votes of gradients for two of eight directions each, in shared memory: two atomics an element, seven lanes or so on
// one word. 67 MB: 16 µs of DRAM; 1.05 M atomics of a warp are 7,944 an SM, 16 clocks each and more: 75 µs.
constexpr int VOTERS = SMS * 8, VOTES_EACH = 62;

extern "C" __global__ void __launch_bounds__(256) direction_votes(const float *__restrict__ in, float *out) {
    __shared__ int bins[8];
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    __syncthreads();
    const float *own = in + blockIdx.x * 256L * VOTES_EACH + threadIdx.x;
#pragma unroll 2
    for (int r = 0; r < VOTES_EACH; ++r) {
        int v = int(own[r * 256]), weight = (threadIdx.x + r & 3) + 1;
        atomicAdd(bins + (v & 7), 3 * weight);  // FAULT
        atomicAdd(bins + (v + 1 & 7), weight);  // FAULT
    }
    __syncthreads();
    if (threadIdx.x < 8) out[blockIdx.x * 8 + threadIdx.x] = bins[threadIdx.x];
}

// Every thread has a column of its own, and nobody else adds to it.
extern "C" __global__ void __launch_bounds__(256) direction_votes_fix(const float *__restrict__ in, float *out) {
    __shared__ int bins[8][256];
#pragma unroll
    for (int k = 0; k < 8; ++k) bins[k][threadIdx.x] = 0;
    const float *own = in + blockIdx.x * 256L * VOTES_EACH + threadIdx.x;
#pragma unroll 2
    for (int r = 0; r < VOTES_EACH; ++r) {
        int v = int(own[r * 256]), weight = (threadIdx.x + r & 3) + 1;
        bins[v & 7][threadIdx.x] += 3 * weight;
        bins[v + 1 & 7][threadIdx.x] += weight;
    }
    __syncthreads();
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, sum = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) sum += bins[warp][k * 32 + lane];
    sum = __reduce_add_sync(~0u, sum);
    if (lane == 0) out[blockIdx.x * 8 + warp] = sum;
}

CASE(direction_votes, OUT, VOTERS * 8, 1, nullptr, direction_votes<<<VOTERS, 256>>>(A, OUT))
CASE(direction_votes_fix, OUT, VOTERS * 8, 1, "direction_votes", direction_votes_fix<<<VOTERS, 256>>>(A, OUT))

// ---- no rule

// Eight bodies of 3,072 unrolled steps each, 384 KiB of instructions, and the eight blocks of an SM are in different
// ones, as in a kernel that carries out another operation a block: more than the caches for instructions hold, and
// eight warps use what is fetched. Two bodies a block are 58 µs of the pipe; the wait for instructions makes it twice
// that and more.
__host__ __device__ constexpr float coefficient(int k) { return float((k * 7919 % 4093) + 1) / 4096.0f; }

template <int FIRST, int COUNT>
__device__ __forceinline__ void unrolled_steps(float x, float &a, float &b) {
    if constexpr (COUNT == 64) {
#pragma unroll
        for (int k = 0; k < 64; k += 2) {
            a = fmaf(a, x, coefficient(FIRST + k));
            b = fmaf(b, x, coefficient(FIRST + k + 1));
        }
    } else {
        unrolled_steps<FIRST, COUNT / 2>(x, a, b);
        unrolled_steps<FIRST + COUNT / 2, COUNT / 2>(x, a, b);
    }
}

template <int WHICH>
__device__ __forceinline__ void unrolled_body(float x, float &a, float &b) {
    unrolled_steps<WHICH * 3072, 2048>(x, a, b);
    unrolled_steps<WHICH * 3072 + 2048, 1024>(x, a, b);
}

extern "C" __global__ void __launch_bounds__(256) unrolled_too_far(const float *in, float *out, int rounds) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float x = in[i] * 0.0625f, a = x, b = 1.0f;
#pragma unroll 1
    for (int r = 0; r < rounds; ++r) {
        switch ((blockIdx.x / SMS + r) % 8) {
            case 0: unrolled_body<0>(x, a, b); break;
            case 1: unrolled_body<1>(x, a, b); break;
            case 2: unrolled_body<2>(x, a, b); break;
            case 3: unrolled_body<3>(x, a, b); break;
            case 4: unrolled_body<4>(x, a, b); break;
            case 5: unrolled_body<5>(x, a, b); break;
            case 6: unrolled_body<6>(x, a, b); break;
            default: unrolled_body<7>(x, a, b);
        }
    }
    out[i] = a + b;
}

CASE(unrolled_too_far, OUT, SMS * 8 * 256, 1, nullptr, unrolled_too_far<<<SMS * 8, 256>>>(A, OUT, 2))
