// Blind part, the shape of the work and what computes: waves, lanes, barriers, spills, pipes, tensor cores, short
// launches. Expected times take DRAM at 4.3 TB/s, 132 SMs, 1.7 GHz; they were written before anything was measured.
#include <mma.h>

#include "../gallery.cuh"

// ---- occupancy

// Looks numbers up in a search tree of 32 keys a node, a warp a number: five nodes, one after the other, of which the
// last comes from DRAM, often the one before as well: 2.2 µs a number. Blocks ask for 100 KiB of shared memory and use
// 1: 8 warps an SM, 64 numbers each: 140 µs. With 64 warps an SM the same takes an eighth.
constexpr int LOOKUPS = SMS * 64 * 8, LOOKUPS_EACH = 8, LEVELS = 5;
constexpr int BRANCHES = 32;

__device__ __forceinline__ void look_up_numbers(const float *__restrict__ tree, float *out) {
    extern __shared__ float found[];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    unsigned first = (blockIdx.x * 4 + warp) * LOOKUPS_EACH;
#pragma unroll 1
    for (int r = 0; r < LOOKUPS_EACH; ++r) {
        unsigned wanted = (first + r) * 2654435761u, node = 0, level = 0;
#pragma unroll 1
        for (int l = 0; l < LEVELS; ++l) {
            unsigned key = unsigned(__ldg(tree + level + node * BRANCHES + lane)) + lane & 7;
            unsigned below = __popc(__ballot_sync(~0u, key < (wanted >> 5 * l & 7)));
            level += 1u << 5 * (l + 1);
            node = node * BRANCHES + (below + (wanted >> (27 - 5 * l)) & 31);
        }
        if (lane == 0) found[warp * LOOKUPS_EACH + r] = node & 255;
    }
    __syncwarp();
    if (lane < LOOKUPS_EACH) out[first + lane] = found[warp * LOOKUPS_EACH + lane];
}

extern "C" __global__ void __launch_bounds__(128) tree_lookup(const float *__restrict__ tree, float *out) {
    look_up_numbers(tree, out);
}

extern "C" __global__ void __launch_bounds__(128) tree_lookup_fix(const float *__restrict__ tree, float *out) {
    look_up_numbers(tree, out);
}

CASE(tree_lookup, OUT, LOOKUPS, 1, nullptr, {
    allow_shared(tree_lookup, 100 << 10);
    tree_lookup<<<LOOKUPS / LOOKUPS_EACH / 4, 128, 100 << 10>>>(A, OUT);
})
CASE(tree_lookup_fix, OUT, LOOKUPS, 1, "tree_lookup",
     tree_lookup_fix<<<LOOKUPS / LOOKUPS_EACH / 4, 128, 4 * LOOKUPS_EACH * 4>>>(A, OUT))

// ---- too few blocks

// Forces between 4,096 bodies, a body a thread: 32 blocks of 128 for 132 SMs, one warp a scheduler. 4,096 rounds of
// about 50 clocks: 120 µs; the whole chip could do the 17 M interactions in 8 µs.
constexpr int BODIES = 4096;

__device__ __forceinline__ void pull(float4 own, float4 other, float3 &force) {
    float x = other.x - own.x, y = other.y - own.y, z = other.z - own.z;
    float near = rsqrtf(fmaf(x, x, fmaf(y, y, fmaf(z, z, 0.5f))));
    float strength = other.w * near * near * near;
    force.x = fmaf(x, strength, force.x), force.y = fmaf(y, strength, force.y), force.z = fmaf(z, strength, force.z);
}

extern "C" __global__ void __launch_bounds__(128) bodies_in_few_blocks(const float4 *__restrict__ bodies, float *out) {
    __shared__ float4 tile[128];
    float4 own = bodies[blockIdx.x * 128 + threadIdx.x];
    float3 force = {};
#pragma unroll 1
    for (int j = 0; j < BODIES; j += 128) {
        tile[threadIdx.x] = bodies[j + threadIdx.x];
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < 128; ++k) pull(own, tile[k], force);
        __syncthreads();
    }
    out[blockIdx.x * 128 + threadIdx.x] = fabsf(force.x) + fabsf(force.y) + fabsf(force.z);
}

// 32 times as many blocks, each with 128 of the others; the last one of a stretch adds up.
extern "C" __global__ void __launch_bounds__(128) bodies_in_few_blocks_fix(const float4 *__restrict__ bodies,
                                                                          float *out) {
    __shared__ float4 tile[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    float4 own = bodies[i];
    float3 force = {};
    tile[threadIdx.x] = bodies[blockIdx.y * 128 + threadIdx.x];
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < 128; ++k) pull(own, tile[k], force);
    __shared__ bool last;
    float *sums = out + BODIES;
    atomicAdd(sums + i, force.x), atomicAdd(sums + BODIES + i, force.y), atomicAdd(sums + 2 * BODIES + i, force.z);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd((int *)(out + 5 * BODIES) + blockIdx.x, 1) == BODIES / 128 - 1;
    __syncthreads();
    if (last)
        out[i] = fabsf(__ldcg(sums + i)) + fabsf(__ldcg(sums + BODIES + i)) + fabsf(__ldcg(sums + 2 * BODIES + i));
}

CASE(bodies_in_few_blocks, SMALL, BODIES, 1, nullptr,
     bodies_in_few_blocks<<<BODIES / 128, 128>>>((float4 *)A, SMALL))
CASE(bodies_in_few_blocks_fix, SMALL, BODIES, 1, "bodies_in_few_blocks",
     bodies_in_few_blocks_fix<<<dim3(BODIES / 128, BODIES / 128), 128>>>((float4 *)A, SMALL))

// A persistent kernel started with 64 blocks of 256: half the SMs get none. 2 x 32 MiB are 16 µs for the whole chip; 64
// SMs with 8 KiB under way each, 0.8 µs a trip, are 0.7 TB/s of reads: 50 µs and more.
constexpr long TURNED = 2L << 20;

__device__ __forceinline__ float4 turned(float4 v, float4 cs) {
    return make_float4(v.x * cs.x - v.y * cs.y, v.x * cs.y + v.y * cs.x, v.z * cs.z - v.w * cs.w,
                       v.z * cs.w + v.w * cs.z);
}

__device__ __forceinline__ void turn_all(const float4 *__restrict__ in, const float4 *__restrict__ angles,
                                         float4 *out) {
    const long step = gridDim.x * 256L;
    float4 angle = angles[threadIdx.x];
#pragma unroll 2
    for (long i = blockIdx.x * 256L + threadIdx.x; i < TURNED; i += step) out[i] = turned(in[i], angle);
}

extern "C" __global__ void __launch_bounds__(256) rotary_persistent(const float4 *__restrict__ in,
                                                                   const float4 *__restrict__ angles, float4 *out) {
    turn_all(in, angles, out);
}

extern "C" __global__ void __launch_bounds__(256) rotary_persistent_fix(const float4 *__restrict__ in,
                                                                       const float4 *__restrict__ angles, float4 *out) {
    turn_all(in, angles, out);
}

CASE(rotary_persistent, OUT, TURNED * 4, 1, nullptr,
     rotary_persistent<<<64, 256>>>((float4 *)A, (float4 *)B, (float4 *)OUT))
CASE(rotary_persistent_fix, OUT, TURNED * 4, 1, "rotary_persistent",
     rotary_persistent_fix<<<SMS * 8, 256>>>((float4 *)A, (float4 *)B, (float4 *)OUT))

// ---- the last wave

// A filter of 1,024 taps over one line of samples, eight results a thread. Blocks of 1,024 ask for 120 KiB of
// shared memory: one an SM, 148 blocks for 132 SMs. A block is 8.4 M sums of products, 65,500 clocks or 39 µs at
// best; two waves are 77 µs where 43 would do.
constexpr int FILTERED = 148 * 8192, LONG_TAPS = 1024;

template <int THREADS>
__device__ __forceinline__ void filter_line(const float *__restrict__ in, float *out) {
    extern __shared__ __align__(16) float line[];  // a word of padding after every eight; the taps behind
    constexpr int SAMPLES = THREADS * 8 + LONG_TAPS, PADDED = SAMPLES / 8 * 9;
    float *taps = line + PADDED;
    long first = blockIdx.x * (THREADS * 8L);
    for (int k = threadIdx.x; k < SAMPLES; k += THREADS) line[k / 8 * 9 + k % 8] = in[first + k];
    for (int k = threadIdx.x; k < LONG_TAPS; k += THREADS) taps[k] = float(k % 5 + 1) * 0.125f;
    __syncthreads();
    float sums[8] = {}, now[8];
    const float *own = line + threadIdx.x * 9;
#pragma unroll
    for (int k = 0; k < 8; ++k) now[k] = own[k];
#pragma unroll 4
    for (int c = 0; c < LONG_TAPS / 8; ++c) {
        float4 t0 = *(const float4 *)(taps + c * 8), t1 = *(const float4 *)(taps + c * 8 + 4);
        float next[8], tap[8] = {t0.x, t0.y, t0.z, t0.w, t1.x, t1.y, t1.z, t1.w};
#pragma unroll
        for (int k = 0; k < 8; ++k) next[k] = own[(c + 1) * 9 + k];
#pragma unroll
        for (int k = 0; k < 8; ++k)
#pragma unroll
            for (int r = 0; r < 8; ++r)
                sums[r] = fmaf(tap[k], k + r < 8 ? now[(k + r) % 8] : next[(k + r) % 8], sums[r]);
#pragma unroll
        for (int k = 0; k < 8; ++k) now[k] = next[k];
    }
    float4 *own_out = (float4 *)(out + first + threadIdx.x * 8L);
    own_out[0] = make_float4(sums[0], sums[1], sums[2], sums[3]);
    own_out[1] = make_float4(sums[4], sums[5], sums[6], sums[7]);
}

constexpr int filter_bytes(int threads) { return ((threads * 8 + LONG_TAPS) / 8 * 9 + LONG_TAPS) * 4; }

extern "C" __global__ void __launch_bounds__(1024) long_filter(const float *__restrict__ in, float *out) {
    filter_line<1024>(in, out);
}

extern "C" __global__ void __launch_bounds__(128) long_filter_fix(const float *__restrict__ in, float *out) {
    filter_line<128>(in, out);
}

// Half of the SM's shared memory and more, so that one block fits whatever the compiler makes of the registers.
constexpr int ONE_A_SM = 120 << 10;
static_assert(filter_bytes(1024) <= ONE_A_SM);

CASE(long_filter, OUT, FILTERED, 1, nullptr, {
    allow_shared(long_filter, ONE_A_SM);
    long_filter<<<FILTERED / 8192, 1024, ONE_A_SM>>>(A, OUT);
})
CASE(long_filter_fix, OUT, FILTERED, 1, "long_filter",
     long_filter_fix<<<FILTERED / 1024, 128, filter_bytes(128)>>>(A, OUT))

// ---- uneven work

// Each row sees the keys up to its own place: row r of 135,168 takes r / 11 + 1 of 12,288 keys. Blocks take their rows
// in one piece, one block an SM, one wave: the last SM works twice as long as the average. 830 M keys, 2.4 instructions
// each: 70 µs on average, 140 µs for the last.
constexpr int CAUSAL_ROWS = SMS * 1024, CAUSAL_KEYS = 12288;

__device__ __forceinline__ float seen_by_row(int row, float own, const float *keys) {
    float sums[4] = {};
    int count = row / 11 + 1, j = 0;
#pragma unroll 4
    for (; j + 4 <= count; j += 4) {
        float4 key = *(const float4 *)(keys + j);
        float a = own - key.x, b = own - key.y, c = own - key.z, d = own - key.w;
        sums[0] = fmaf(a, a, sums[0]), sums[1] = fmaf(b, b, sums[1]);
        sums[2] = fmaf(c, c, sums[2]), sums[3] = fmaf(d, d, sums[3]);
    }
    for (; j < count; ++j) sums[0] = fmaf(own - keys[j], own - keys[j], sums[0]);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

__device__ __forceinline__ void causal_row(int row, const float *in, float *out) {
    extern __shared__ __align__(16) float keys[];
    for (int k = threadIdx.x; k < CAUSAL_KEYS; k += 1024) keys[k] = in[k];
    __syncthreads();
    out[row] = seen_by_row(row, in[row], keys);
}

extern "C" __global__ void __launch_bounds__(1024) causal_rows(const float *in, float *out) {
    causal_row(blockIdx.x * 1024 + threadIdx.x, in, out);
}

// The warps of a block take rows from all over.
extern "C" __global__ void __launch_bounds__(1024) causal_rows_fix(const float *in, float *out) {
    causal_row((threadIdx.x / 32 * SMS + blockIdx.x) * 32 + threadIdx.x % 32, in, out);
}

CASE(causal_rows, OUT, CAUSAL_ROWS, 1, nullptr, {
    allow_shared(causal_rows, ONE_A_SM);
    causal_rows<<<SMS, 1024, ONE_A_SM>>>(A, OUT);
})
CASE(causal_rows_fix, OUT, CAUSAL_ROWS, 1, "causal_rows", {
    allow_shared(causal_rows_fix, ONE_A_SM);
    causal_rows_fix<<<SMS, 1024, ONE_A_SM>>>(A, OUT);
})

// Means over sequences whose lengths fall off as 1 / n: a block each, one wave. All of 1,056 are 8 M floats, 8 µs; the
// first alone is 4 MiB, which one block of 256 with 16 KiB under way reads at 25 GB/s: 170 µs.
constexpr int SEQUENCES = SMS * 8, LONGEST = 1 << 20;

extern "C" __global__ void __launch_bounds__(256, 8) mean_of_sequences(const float4 *__restrict__ in, float *out) {
    int length = LONGEST / 4 / (blockIdx.x + 1);
    const float4 *own = in + (blockIdx.x * 97L % SEQUENCES) * 8192;
    float sum = 0;
#pragma unroll 4
    for (int i = threadIdx.x; i < length; i += 256) sum += sum4(own[i]);
    add_block_sum(sum / length, out + blockIdx.x);
}

CASE(mean_of_sequences, SMALL, SEQUENCES, 1, nullptr,
     mean_of_sequences<<<SEQUENCES, 256>>>((float4 *)A, SMALL))

// ---- idle lanes

// Each lane decodes as many rounds as its own value says, 8 to 1,024: a warp goes on for its longest, and four lanes in
// five rest. 34,000 warps of about 1,024 rounds of four instructions are 260,000 clocks an SM: 155 µs; 255 rounds on
// average.
constexpr int DECODED = SMS * 8 * 256 * 4;

__device__ __forceinline__ float decode(float v, unsigned i) {
    unsigned state = i * 2654435761u + 1, sum = 0;
    int rounds = 8 << int(v);
#pragma unroll 4
    for (int r = 0; r < rounds; ++r) {  // FAULT
        state = state * 1664525u + 1013904223u;  // FAULT
        sum += state >> 28;  // FAULT
    }
    return float(sum);
}

extern "C" __global__ void __launch_bounds__(256) decode_own_length(const float *in, float *out) {
    unsigned i = blockIdx.x * 256 + threadIdx.x;
    out[i] = decode(in[i], i);
}

// Takes the values in the order of their lengths, longest first.
extern "C" __global__ void __launch_bounds__(256) decode_own_length_fix(const float *in, const unsigned *order,
                                                                       float *out) {
    unsigned i = order[blockIdx.x * 256 + threadIdx.x];
    out[i] = decode(in[i], i);
}

static unsigned *by_length() {
    static unsigned *order = nullptr;
    if (order) return order;
    float *values = new float[DECODED];
    unsigned *sorted = new unsigned[DECODED], count = 0;
    CHECK(cudaMemcpy(values, A, DECODED * 4L, cudaMemcpyDeviceToHost));
    for (int kind = 7; kind >= 0; --kind)
        for (unsigned i = 0; i < DECODED; ++i)
            if (int(values[i]) == kind) sorted[count++] = i;
    CHECK(cudaMalloc(&order, DECODED * 4L));
    CHECK(cudaMemcpy(order, sorted, DECODED * 4L, cudaMemcpyHostToDevice));
    delete[] values;
    delete[] sorted;
    return order;
}

CASE(decode_own_length, OUT, DECODED, 1, nullptr, decode_own_length<<<DECODED / 256, 256>>>(A, OUT))
CASE(decode_own_length_fix, OUT, DECODED, 1, "decode_own_length",
     unsigned *order = by_length(); decode_own_length_fix<<<DECODED / 256, 256>>>(A, order, OUT))

// ---- barriers

// Splits matrices of 32 x 32 into two triangles, an element a thread: in each of 31 steps one warp divides its column
// while 31 wait, and all wait again before the next. 2 x 17 MB: 8 µs of DRAM; 16 waves of 31 steps of 400 clocks: 117
// µs.
constexpr int MATRICES = SMS * 2 * 16;

extern "C" __global__ void __launch_bounds__(1024) factor_by_barriers(const float *__restrict__ in, float *out) {
    __shared__ float below[32], m[32][33];
    int y = threadIdx.x % 32, x = threadIdx.x / 32;
    long at = blockIdx.x * 1024L + threadIdx.x;
    float own = in[at] + (x == y ? 300.0f : 0.0f);
    m[y][x] = own;
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < 31; ++k) {
        if (x == k && y > k) below[y] = own = own / m[k][k];
        __syncthreads();  // FAULT
        if (x > k && y > k) m[y][x] = own = fmaf(-below[y], m[k][x], own);
        __syncthreads();  // FAULT
    }
    out[at] = own;
}

// A matrix a warp, a row a lane, in registers: shuffles instead of barriers.
extern "C" __global__ void __launch_bounds__(128) factor_by_barriers_fix(const float *__restrict__ in, float *out) {
    int y = threadIdx.x % 32;
    long first = (blockIdx.x * 4L + threadIdx.x / 32) * 1024;
    float row[32];
#pragma unroll
    for (int x = 0; x < 32; ++x) row[x] = in[first + x * 32 + y] + (x == y ? 300.0f : 0.0f);
#pragma unroll
    for (int k = 0; k < 31; ++k) {
        float factor = row[k] / __shfl_sync(~0u, row[k], k);
        if (y > k) row[k] = factor;
#pragma unroll
        for (int x = k + 1; x < 32; ++x) {
            float above = __shfl_sync(~0u, row[x], k);
            if (y > k) row[x] = fmaf(-factor, above, row[x]);
        }
    }
#pragma unroll
    for (int x = 0; x < 32; ++x) out[first + x * 32 + y] = row[x];
}

CASE(factor_by_barriers, OUT, MATRICES * 1024L, 1, nullptr, factor_by_barriers<<<MATRICES, 1024>>>(A, OUT))
CASE(factor_by_barriers_fix, OUT, MATRICES * 1024L, 1, "factor_by_barriers",
     factor_by_barriers_fix<<<MATRICES / 4, 128>>>(A, OUT))

// ---- spills

// Hadamard transforms of 64 values a thread, twice with other signs, under bounds that leave 32 registers. 2 x 69 MB:
// 32 µs of DRAM; 12 steps through 64 values, half of them from local memory and back, are 770 accesses a thread, 0.8
// GB, in 1.2 MB an SM, more than L1 and L2 hold: 200 µs and more.
constexpr int TRANSFORMED = SMS * 2 * 1024;

__device__ __forceinline__ void transform_values(const float *__restrict__ in, float *out, int i) {
    float v[64];
#pragma unroll
    for (int k = 0; k < 64; ++k) v[k] = in[k * TRANSFORMED + i];
#pragma unroll 1
    for (int round = 0; round < 2; ++round) {
#pragma unroll
        for (int d = 1; d < 64; d *= 2)
#pragma unroll
            for (int k = 0; k < 64; ++k)
                if (!(k & d)) {
                    float a = v[k], b = v[k + d];
                    v[k] = a + b, v[k + d] = a - b;  // FAULT
                }
#pragma unroll
        for (int k = 0; k < 64; ++k) v[k] *= k * 5 % 3 ? 0.125f : -0.125f;  // FAULT
    }
#pragma unroll
    for (int k = 0; k < 64; ++k) out[k * TRANSFORMED + i] = v[k];  // FAULT
}

extern "C" __global__ void __launch_bounds__(1024, 2) hadamard_in_bounds(const float *__restrict__ in, float *out) {
    transform_values(in, out, blockIdx.x * 1024 + threadIdx.x);
}

extern "C" __global__ void __launch_bounds__(128) hadamard_in_bounds_fix(const float *__restrict__ in, float *out) {
    transform_values(in, out, blockIdx.x * 128 + threadIdx.x);
}

CASE(hadamard_in_bounds, OUT, TRANSFORMED * 64L, 1, nullptr,
     hadamard_in_bounds<<<TRANSFORMED / 1024, 1024>>>(A, OUT))
CASE(hadamard_in_bounds_fix, OUT, TRANSFORMED * 64L, 1, "hadamard_in_bounds",
     hadamard_in_bounds_fix<<<TRANSFORMED / 128, 128>>>(A, OUT))

// ---- pipes

// A series of 96 terms in a float's activation, its sum declared double. 2 x 34 MB: 16 µs of DRAM; 96 sums of products
// in doubles for 8.4 M values are 95,000 clocks an SM at 64 a clock: 56 µs.
constexpr int ACTIVATED = 8 << 20, TERMS_OF_SERIES = 96;

template <typename Number>
__device__ __forceinline__ float activation(float v) {
    Number x = v * 0.0625f, sum = 1;
#pragma unroll 8
    for (int k = 0; k < TERMS_OF_SERIES; ++k) sum = sum * x + Number(0.5);  // FAULT
    return float(sum);
}

extern "C" __global__ void __launch_bounds__(256) series_summed_in_double(const float4 *__restrict__ in, float4 *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 v = in[i];
    out[i] = make_float4(activation<double>(v.x), activation<double>(v.y), activation<double>(v.z),
                         activation<double>(v.w));  // FAULT
}

extern "C" __global__ void __launch_bounds__(256) series_summed_in_double_fix(const float4 *__restrict__ in,
                                                                             float4 *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 v = in[i];
    out[i] = make_float4(activation<float>(v.x), activation<float>(v.y), activation<float>(v.z),
                         activation<float>(v.w));
}

CASE(series_summed_in_double, OUT, ACTIVATED, 1, nullptr,
     series_summed_in_double<<<ACTIVATED / 1024, 256>>>((float4 *)A, (float4 *)OUT))
CASE(series_summed_in_double_fix, OUT, ACTIVATED, 1, "series_summed_in_double",
     series_summed_in_double_fix<<<ACTIVATED / 1024, 256>>>((float4 *)A, (float4 *)OUT))

// The nearest of 256 codes of 128 bits by the bits in which they differ: four bit counts a pair, which the pipe for
// special functions does at 16 a clock. 277 M of them: 131,000 clocks an SM, 77 µs; the rest fits beside it, and DRAM
// has 4 MB.
constexpr int SEARCHED = SMS * 8 * 256, CODE_COUNT = 256;

extern "C" __global__ void __launch_bounds__(256) nearest_code(const float4 *__restrict__ in,
                                                              const float4 *__restrict__ table, float *out) {
    __shared__ uint4 codes[CODE_COUNT];
    float4 c = table[threadIdx.x];
    unsigned salt = threadIdx.x * 2654435761u;
    codes[threadIdx.x] = make_uint4(unsigned(c.x) * 0x7feb352du ^ salt, unsigned(c.y) * 0x846ca68bu ^ salt,
                                    unsigned(c.z) * 0x9e3779b9u ^ salt, unsigned(c.w) * 0x85ebca6bu ^ salt);
    __syncthreads();
    int i = blockIdx.x * 256 + threadIdx.x, best = 129;
    float4 v = in[i];
    uint4 own = make_uint4(unsigned(v.x) * 0x2c1b3c6du, unsigned(v.y) * 0x297a2d39u, unsigned(v.z) * 0x7feb352du,
                           unsigned(v.w) * 0x846ca68bu);
#pragma unroll 4
    for (int k = 0; k < CODE_COUNT; ++k) {
        uint4 d = codes[k];
        int apart = __popc(own.x ^ d.x) + __popc(own.y ^ d.y) + __popc(own.z ^ d.z) + __popc(own.w ^ d.w);  // FAULT
        best = min(best, apart);
    }
    out[i] = best;
}

CASE(nearest_code, OUT, SEARCHED, 1, nullptr, nearest_code<<<SEARCHED / 256, 256>>>((float4 *)B, (float4 *)A, OUT))

// The median of 5 x 5 by 13 passes that each carry the largest of what is left to the end: 234 pairs, 468 minima and
// maxima at 64 a clock. 4.2 M pixels: 232,000 clocks an SM, 137 µs; 2 x 17 MB of DRAM and 25 loads from L1 a pixel fit
// beside it.
constexpr int PICTURE = 2048, FRAMED = PICTURE + 32;

extern "C" __global__ void __launch_bounds__(256) median_of_25(const float *__restrict__ in, float *out) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float v[25];
#pragma unroll
    for (int k = 0; k < 25; ++k) v[k] = in[(y + k / 5) * FRAMED + x + k % 5];
#pragma unroll
    for (int end = 24; end >= 12; --end)
#pragma unroll
        for (int k = 0; k < end; ++k) {
            float low = fminf(v[k], v[k + 1]), high = fmaxf(v[k], v[k + 1]);  // FAULT
            v[k] = low, v[k + 1] = high;
        }
    out[y * PICTURE + x] = v[12];
}

CASE(median_of_25, OUT, PICTURE *PICTURE, 1, nullptr,
     median_of_25<<<dim3(PICTURE / 32, PICTURE / 8), dim3(32, 8)>>>(A, OUT))

// ---- at the rate of a pipe

// A chain of 192 transforms of 4 x 4 for each of 270,336 nodes: sums of products from registers, 16 independent ones.
// 3.3 G: 197,000 clocks an SM, 116 µs; 35 MB of DRAM.
constexpr int NODES = SMS * 8 * 256, CHAIN = 192;

__device__ __forceinline__ void chain_of_transforms(const float *__restrict__ in, float *out, int i) {
    float m[16], turn[16];
#pragma unroll
    for (int k = 0; k < 16; ++k) m[k] = in[k * NODES + i], turn[k] = in[(15 - k) * NODES + i] * 0.03125f;
#pragma unroll 1
    for (int r = 0; r < CHAIN; ++r) {
        float next[16];
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            float sum = fmaf(m[k / 4 * 4], turn[k % 4], 0.5f);
            sum = fmaf(m[k / 4 * 4 + 1], turn[4 + k % 4], sum);
            sum = fmaf(m[k / 4 * 4 + 2], turn[8 + k % 4], sum);
            next[k] = fmaf(m[k / 4 * 4 + 3], turn[12 + k % 4], sum);
        }
#pragma unroll
        for (int k = 0; k < 16; ++k) m[k] = next[k];
    }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 16; ++k) sum += m[k];
    out[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256, 4) transform_chain(const float *__restrict__ in, float *out) {
    chain_of_transforms(in, out, blockIdx.x * 256 + threadIdx.x);
}

// The same with 8 warps an SM, for want of shared memory: two warps of 16 chains a scheduler still fill the pipe.
extern "C" __global__ void __launch_bounds__(128) transform_chain_few_warps(const float *__restrict__ in, float *out) {
    chain_of_transforms(in, out, blockIdx.x * 128 + threadIdx.x);
}

CASE(transform_chain, OUT, NODES, 1, nullptr, transform_chain<<<NODES / 256, 256>>>(A, OUT))
CASE(transform_chain_few_warps, OUT, NODES, 1, "transform_chain", {
    allow_shared(transform_chain_few_warps, 100 << 10);
    transform_chain_few_warps<<<NODES / 128, 128, 100 << 10>>>(A, OUT);
})

// Sums of products of numbers that are doubles: 4 chains a thread, 1,024 rounds. 1.1 G at 64 a clock: 131,000 clocks an
// SM, 77 µs; 4 MB of DRAM.
extern "C" __global__ void __launch_bounds__(256) recurrence_of_doubles(const double *__restrict__ in, double *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    double x = (in[i] - floor(in[i])) * 0.5 + 0.25, v[4] = {x, x * 0.5, x * 0.25, 1.0};
#pragma unroll 8
    for (int r = 0; r < 1024; ++r)
#pragma unroll
        for (int k = 0; k < 4; ++k) v[k] = fma(v[k], x, 0.125);
    out[i] = (v[0] + v[1]) + (v[2] + v[3]);
}

static double *doubles() {
    static double *own = nullptr;
    if (own) return own;
    double *values = new double[NODES];
    for (int i = 0; i < NODES; ++i) values[i] = (i * 7919L % 4093) / 4093.0;
    CHECK(cudaMalloc(&own, NODES * 8L));
    CHECK(cudaMemcpy(own, values, NODES * 8L, cudaMemcpyHostToDevice));
    delete[] values;
    return own;
}

// The upper half of a double, read as a float, is as good a witness.
CASE(recurrence_of_doubles, OUT + 1, NODES, 2, nullptr,
     double *own = doubles(); recurrence_of_doubles<<<NODES / 256, 256>>>(own, (double *)OUT))

// ---- tensor cores

// Scores of queries and keys in halves, 8 heads of 2,048 x 2,048 by 64, on the pipe for floats: 2.1 G sums of products
// are 73 µs at its best; the tensor cores would need 5 µs, and writing 67 MB of halves 16 µs.
constexpr int SCORED = 2048, HEAD_WIDTH = 64, SCORE_HEADS = 8;

extern "C" __global__ void __launch_bounds__(256) scores_without_tensor(const half *__restrict__ queries,
                                                                       const half *__restrict__ keys, half *out) {
    __shared__ __align__(16) float left[32][132];
    __shared__ __align__(16) float right[32][68];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16, y = threadIdx.x % 64, x = threadIdx.x / 64 * 8;
    const half *q = queries + (blockIdx.z * long(SCORED) + blockIdx.y * 128 + y) * HEAD_WIDTH + x;
    const half *p = keys + (blockIdx.z * long(SCORED) + blockIdx.x * 64 + y) * HEAD_WIDTH + x;
    float sums[8][4] = {};
#pragma unroll 1
    for (int k = 0; k < HEAD_WIDTH; k += 32) {
        uint4 l0 = *(const uint4 *)(q + k), l1 = *(const uint4 *)(q + 64 * HEAD_WIDTH + k);
        uint4 r0 = *(const uint4 *)(p + k);
        __syncthreads();
#pragma unroll
        for (int e = 0; e < 8; ++e) {
            left[x + e][y] = __half2float(((half *)&l0)[e]), left[x + e][y + 64] = __half2float(((half *)&l1)[e]);
            right[x + e][y] = __half2float(((half *)&r0)[e]);
        }
        __syncthreads();
#pragma unroll 8
        for (int d = 0; d < 32; ++d) {
            float4 l = *(float4 *)&left[d][ty * 8], o = *(float4 *)&left[d][ty * 8 + 4];
            float4 r = *(float4 *)&right[d][tx * 4];
            float a[8] = {l.x, l.y, l.z, l.w, o.x, o.y, o.z, o.w}, b[4] = {r.x, r.y, r.z, r.w};
#pragma unroll
            for (int m = 0; m < 8; ++m)
#pragma unroll
                for (int n = 0; n < 4; ++n) sums[m][n] = fmaf(a[m], b[n], sums[m][n]);  // FAULT
        }
    }
#pragma unroll
    for (int m = 0; m < 8; ++m) {
        half2 *row = (half2 *)(out + (blockIdx.z * long(SCORED) + blockIdx.y * 128 + ty * 8 + m) * SCORED +
                               blockIdx.x * 64 + tx * 4);
        row[0] = __floats2half2_rn(sums[m][0], sums[m][1]), row[1] = __floats2half2_rn(sums[m][2], sums[m][3]);
    }
}

CASE(scores_without_tensor, OUT, long(SCORED) * SCORED *SCORE_HEADS / 2, 1, nullptr,
     scores_without_tensor<<<dim3(SCORED / 64, SCORED / 128, SCORE_HEADS), 256>>>(HALF_A, HALF_B, (half *)OUT))

// A linear layer, 1,792 x 2,048 by 2,048, in steps of 16: load, barrier, four old instructions a warp, barrier. 7.5 G
// sums of products are 18 µs for wgmma; 128 steps of about 1,500 clocks for 7 blocks an SM, one wave, are 110 µs and
// more.
constexpr int LAYER = 2048, LAYER_ROWS = 1792;

extern "C" __global__ void __launch_bounds__(128, 6) linear_in_short_steps(const half *__restrict__ x,
                                                                       const half *__restrict__ weights, float *y) {
    using namespace nvcuda;
    __shared__ alignas(32) half left[64][24], right[64][24];
    int warp = threadIdx.x / 32, row = warp / 2 * 32, column = warp % 2 * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2][2];
    for (int m = 0; m < 2; ++m)
        for (int n = 0; n < 2; ++n) wmma::fill_fragment(sums[m][n], 0.0f);
    const half *own_x = x + (blockIdx.y * 64L + threadIdx.x / 2) * LAYER + threadIdx.x % 2 * 8;
    const half *own_w = weights + (blockIdx.x * 64L + threadIdx.x / 2) * LAYER + threadIdx.x % 2 * 8;
#pragma unroll 1
    for (int k = 0; k < LAYER; k += 16) {
        *(uint4 *)&left[threadIdx.x / 2][threadIdx.x % 2 * 8] = *(const uint4 *)(own_x + k);  // FAULT
        *(uint4 *)&right[threadIdx.x / 2][threadIdx.x % 2 * 8] = *(const uint4 *)(own_w + k);  // FAULT
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> l[2];
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> r[2];
        for (int m = 0; m < 2; ++m) wmma::load_matrix_sync(l[m], &left[row + m * 16][0], 24);  // FAULT
        for (int n = 0; n < 2; ++n) wmma::load_matrix_sync(r[n], &right[column + n * 16][0], 24);  // FAULT
        for (int m = 0; m < 2; ++m)
            for (int n = 0; n < 2; ++n) wmma::mma_sync(sums[m][n], l[m], r[n], sums[m][n]);  // FAULT
        __syncthreads();
    }
    for (int m = 0; m < 2; ++m)
        for (int n = 0; n < 2; ++n)
            wmma::store_matrix_sync(y + (blockIdx.y * 64L + row + m * 16) * LAYER + blockIdx.x * 64 + column + n * 16,
                                    sums[m][n], LAYER, wmma::mem_row_major);
}

CASE(linear_in_short_steps, OUT, LAYER_ROWS *LAYER, 1, nullptr,
     linear_in_short_steps<<<dim3(LAYER / 64, LAYER_ROWS / 64), 128>>>(HALF_A, HALF_B, OUT))

// ---- launches that are too short

// The last steps of a merge, one launch each: 1 MB through L2 is less than a microsecond of work, a launch is two.
constexpr int MERGED = SMS * 8 * 256;

extern "C" __global__ void merge_short_step(const float *in, float *out, int distance) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float own = in[i], other = in[i ^ distance];
    out[i] = i & distance ? fmaxf(own, other) : fminf(own, other);
}

extern "C" __global__ void merge_short_steps_fix(const float *in, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float own = in[i];
    for (int d = 8; d > 0; d /= 2) {
        float other = __shfl_xor_sync(~0u, own, d);
        own = i & d ? fmaxf(own, other) : fminf(own, other);
    }
    out[i] = own;
}

CASE(merge_short_steps, OUT, MERGED, 1, nullptr, {
    float *between = OUT + MERGED;
    merge_short_step<<<MERGED / 256, 256>>>(A, between, 8);
    merge_short_step<<<MERGED / 256, 256>>>(between, between + MERGED, 4);
    merge_short_step<<<MERGED / 256, 256>>>(between + MERGED, between, 2);
    merge_short_step<<<MERGED / 256, 256>>>(between, OUT, 1);
})
CASE(merge_short_steps_fix, OUT, MERGED, 1, "merge_short_steps",
     merge_short_steps_fix<<<MERGED / 256, 256>>>(A, OUT))

// One step of an optimiser for 270,336 weights: 4 MB, about a microsecond of work.
extern "C" __global__ void momentum_small(const float *gradient, const float *before, float *moment, float *weight) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float m = fmaf(0.9f, before[i], gradient[i]);
    moment[i] = m;
    weight[i] = fmaf(-0.01f, m, 1.0f);
}

CASE(momentum_small, OUT, MERGED * 2, 1, nullptr, momentum_small<<<MERGED / 256, 256>>>(A, B, OUT, OUT + MERGED))
