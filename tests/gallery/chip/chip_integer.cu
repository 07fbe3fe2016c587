// Integers: distances in bits, checksums by table, hash tables, bytes; small sorts; instructions that are no work.
#include "../gallery.cuh"

constexpr int THREADS = SMS * 8 * 256;

// ---- the nearest of 256 codes of 256 bits: eight bit counts a code, 16 lanes a cycle, or four

constexpr int CODES = 256;

__device__ __forceinline__ int ones_each(const uint4 &a, const uint4 &b, const uint4 &x, const uint4 &y) {
    return __popc(a.x ^ x.x) + __popc(a.y ^ x.y) + __popc(a.z ^ x.z) + __popc(a.w ^ x.w) +  // FAULT
           __popc(b.x ^ y.x) + __popc(b.y ^ y.y) + __popc(b.z ^ y.z) + __popc(b.w ^ y.w);   // FAULT
}

struct Carried {
    unsigned sum, carry;
};

__device__ __forceinline__ Carried full_add(unsigned a, unsigned b, unsigned c) {
    return {a ^ b ^ c, (a & b) | (a & c) | (b & c)};
}

__device__ __forceinline__ int ones_carried(const uint4 &a, const uint4 &b, const uint4 &x, const uint4 &y) {
    Carried p = full_add(a.x ^ x.x, a.y ^ x.y, a.z ^ x.z), q = full_add(a.w ^ x.w, b.x ^ y.x, b.y ^ y.y);
    Carried ones = full_add(p.sum, q.sum, b.z ^ y.z), twos = full_add(p.carry, q.carry, ones.carry);
    return __popc(ones.sum) + __popc(b.w ^ y.w) + 2 * __popc(twos.sum) + 4 * __popc(twos.carry);
}

template <bool CARRIED>
__device__ __forceinline__ void nearest(const uint4 *in, float *out) {
    __shared__ uint4 codes[CODES * 2];
    for (int k = threadIdx.x; k < CODES * 2; k += 256) codes[k] = in[k * 8];
    __syncthreads();
    int i = blockIdx.x * 256 + threadIdx.x, best = 1 << 20;
    uint4 a = in[i * 2 + 64], b = in[i * 2 + 65];
#pragma unroll 4
    for (int k = 0; k < CODES; ++k) {
        uint4 x = codes[k * 2], y = codes[k * 2 + 1];
        int distance = CARRIED ? ones_carried(a, b, x, y) : ones_each(a, b, x, y);
        best = min(best, distance << 8 | k);
    }
    out[i] = float(best);
}

extern "C" __global__ void __launch_bounds__(256) hamming_count_each_word(const uint4 *in, float *out) {
    nearest<false>(in, out);
}

extern "C" __global__ void __launch_bounds__(256) hamming_count_each_word_fix(const uint4 *in, float *out) {
    nearest<true>(in, out);
}

CASE(hamming_count_each_word, OUT, THREADS, 1, nullptr,
     hamming_count_each_word<<<THREADS / 256, 256>>>((uint4 *)ROWS, OUT))
CASE(hamming_count_each_word_fix, OUT, THREADS, 1, "hamming_count_each_word",
     hamming_count_each_word_fix<<<THREADS / 256, 256>>>((uint4 *)ROWS, OUT))

// ---- a checksum of 64 words a thread, byte by byte through a table: in constants, in shared memory, a copy a bank

constexpr int CHECKED = 64;
__constant__ unsigned CHECK_TABLE[256];

__host__ __device__ constexpr unsigned check_entry(unsigned i) {
    for (int bit = 0; bit < 8; ++bit) i = i >> 1 ^ (i & 1 ? 0xedb88320u : 0u);
    return i;
}

template <typename Lookup>
__device__ __forceinline__ float checksum(const unsigned *__restrict__ in, Lookup lookup) {
    unsigned check = ~0u, i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 2
    for (int r = 0; r < CHECKED; ++r) {
        unsigned word = in[r * 8192 + i] * (2 * i + 1);
#pragma unroll
        for (int q = 0; q < 4; ++q) check = lookup((check ^ word >> q * 8) & 255) ^ check >> 8;
    }
    return float(check >> 8);
}

extern "C" __global__ void __launch_bounds__(1024) checksum_in_constants(const unsigned *in, float *out) {
    out[blockIdx.x * 1024 + threadIdx.x] = checksum(in, [](unsigned at) { return CHECK_TABLE[at]; });  // FAULT
}

extern "C" __global__ void __launch_bounds__(1024) checksum_in_shared(const unsigned *in, float *out) {
    __shared__ unsigned table[256];
    if (threadIdx.x < 256) table[threadIdx.x] = check_entry(threadIdx.x);
    __syncthreads();
    out[blockIdx.x * 1024 + threadIdx.x] = checksum(in, [&](unsigned at) { return table[at]; });  // FAULT
}

extern "C" __global__ void __launch_bounds__(1024) checksum_copy_a_bank(const unsigned *in, float *out) {
    __shared__ unsigned table[256 * 32];
    for (int k = threadIdx.x; k < 256 * 32; k += 1024) table[k] = check_entry(k / 32);
    __syncthreads();
    int lane = threadIdx.x % 32;
    out[blockIdx.x * 1024 + threadIdx.x] = checksum(in, [&](unsigned at) { return table[at * 32 + lane]; });
}

static void set_check_table() {
    static bool done = false;
    if (done) return;
    unsigned table[256];
    for (unsigned i = 0; i < 256; ++i) table[i] = check_entry(i);
    CHECK(cudaMemcpyToSymbol(CHECK_TABLE, table, sizeof(table)));
    done = true;
}

CASE(checksum_in_constants, OUT, THREADS, 1, nullptr, set_check_table();
     checksum_in_constants<<<THREADS / 1024, 1024>>>(ROWS, OUT))
CASE(checksum_in_shared, OUT, THREADS, 1, "checksum_in_constants",
     checksum_in_shared<<<THREADS / 1024, 1024>>>(ROWS, OUT))
CASE(checksum_copy_a_bank, OUT, THREADS, 1, "checksum_in_constants",
     checksum_copy_a_bank<<<THREADS / 1024, 1024>>>(ROWS, OUT))

// ---- the slots of a hash of 64 bits in 32 tables of their own sizes: a division of 64 bits each

using Wide = unsigned long long;
constexpr Wide SLOTS = 1000003;
constexpr int TABLES = 32;

template <typename Slot>
__device__ __forceinline__ float slots(const unsigned *in, Slot slot) {
    Wide hash = in[blockIdx.x * 256 + threadIdx.x] + 0x9e3779b97f4a7c15ull;
    unsigned sum = 0;
#pragma unroll 1
    for (int r = 0; r < TABLES; ++r) {
        hash ^= hash >> 31, hash *= 0xbf58476d1ce4e5b9ull;
        sum += unsigned(slot(hash, r));
    }
    return float(sum & 0xfffff);
}

extern "C" __global__ void __launch_bounds__(256) hash_divided_in_64_bits(const unsigned *in, float *out, Wide count) {
    out[blockIdx.x * 256 + threadIdx.x] = slots(in, [=](Wide hash, int r) { return hash % (count + 2 * r); });  // FAULT
}

extern "C" __global__ void __launch_bounds__(256) hash_divided_in_64_bits_fix(const unsigned *in, float *out,
                                                                             Wide count) {
    __shared__ Wide inverses[TABLES];
    if (threadIdx.x < TABLES) inverses[threadIdx.x] = ~0ull / (count + 2 * threadIdx.x);
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = slots(in, [&](Wide hash, int r) {
        Wide size = count + 2 * r, rest = hash - __umul64hi(hash, inverses[r]) * size;
        return rest >= size ? rest - size : rest;
    });
}

CASE(hash_divided_in_64_bits, OUT, THREADS, 1, nullptr,
     hash_divided_in_64_bits<<<THREADS / 256, 256>>>(ROWS, OUT, SLOTS))
CASE(hash_divided_in_64_bits_fix, OUT, THREADS, 1, "hash_divided_in_64_bits",
     hash_divided_in_64_bits_fix<<<THREADS / 256, 256>>>(ROWS, OUT, SLOTS))

// ---- differences of 256 bytes with a window in shared memory: a byte a load, or four

constexpr int BLOCK_BYTES = 256;

extern "C" __global__ void __launch_bounds__(256) difference_by_bytes(const unsigned char *__restrict__ in, float *out) {
    __shared__ unsigned char window[BLOCK_BYTES * 4], own[BLOCK_BYTES];
    for (int k = threadIdx.x; k < BLOCK_BYTES * 4; k += 256) window[k] = in[blockIdx.x * 1024 + k];
    own[threadIdx.x] = in[(blockIdx.x + 999) * 1024 + threadIdx.x];
    __syncthreads();
    unsigned sum = 0;
#pragma unroll 16
    for (int k = 0; k < BLOCK_BYTES; ++k) sum = __sad(window[threadIdx.x + (threadIdx.x & 3) + k], own[k], sum);  // FAULT
    out[blockIdx.x * 256 + threadIdx.x] = float(sum);
}

// Two words beside each other hold the four bytes from any place on.
extern "C" __global__ void __launch_bounds__(256) difference_by_bytes_fix(const unsigned *__restrict__ in, float *out) {
    __shared__ unsigned window[BLOCK_BYTES + 1], own[BLOCK_BYTES / 4];
    window[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
    if (threadIdx.x < BLOCK_BYTES / 4) own[threadIdx.x] = in[(blockIdx.x + 999) * 256 + threadIdx.x];
    __syncthreads();
    unsigned first = threadIdx.x + (threadIdx.x & 3), sum = 0, before = window[first / 4];
#pragma unroll 16
    for (int k = 0; k < BLOCK_BYTES / 4; ++k) {
        unsigned after = window[first / 4 + k + 1];
        sum += __vsadu4(__funnelshift_r(before, after, first % 4 * 8), own[k]);
        before = after;
    }
    out[blockIdx.x * 256 + threadIdx.x] = float(sum);
}

CASE(difference_by_bytes, OUT, THREADS * 8, 1, nullptr,
     difference_by_bytes<<<THREADS / 32, 256>>>((unsigned char *)ROWS, OUT))
CASE(difference_by_bytes_fix, OUT, THREADS * 8, 1, "difference_by_bytes",
     difference_by_bytes_fix<<<THREADS / 32, 256>>>(ROWS, OUT))

// ---- lists of 16 values a thread, sorted: loops that are not unrolled index the list at run time

constexpr int LISTED = 16, LISTS = THREADS * 4;

extern "C" __global__ void __launch_bounds__(256) sort_list_in_loops(const unsigned *__restrict__ in, float *out) {
    unsigned v[LISTED], i = blockIdx.x * 256 + threadIdx.x;
#pragma unroll
    for (int k = 0; k < LISTED; ++k) v[k] = in[k * LISTS + i] * (2 * i + 1) & 0xffff;
#pragma unroll 1
    for (int round = 0; round < LISTED; ++round)
#pragma unroll 1
        for (int k = round & 1; k + 1 < LISTED; k += 2) {
            unsigned low = min(v[k], v[k + 1]), high = max(v[k], v[k + 1]);  // FAULT
            v[k] = low, v[k + 1] = high;                                     // FAULT
        }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < LISTED; ++k) sum += v[k] * float(k + 1);
    out[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256) sort_list_in_loops_fix(const unsigned *__restrict__ in, float *out) {
    unsigned v[LISTED], i = blockIdx.x * 256 + threadIdx.x;
#pragma unroll
    for (int k = 0; k < LISTED; ++k) v[k] = in[k * LISTS + i] * (2 * i + 1) & 0xffff;
#pragma unroll
    for (int round = 0; round < LISTED; ++round)
#pragma unroll
        for (int k = round & 1; k + 1 < LISTED; k += 2) {
            unsigned low = min(v[k], v[k + 1]), high = max(v[k], v[k + 1]);
            v[k] = low, v[k + 1] = high;
        }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < LISTED; ++k) sum += v[k] * float(k + 1);
    out[i] = sum;
}

CASE(sort_list_in_loops, OUT, LISTS, 1, nullptr, sort_list_in_loops<<<LISTS / 256, 256>>>(ROWS, OUT))
CASE(sort_list_in_loops_fix, OUT, LISTS, 1, "sort_list_in_loops",
     sort_list_in_loops_fix<<<LISTS / 256, 256>>>(ROWS, OUT))

// ---- numbers in a mixed base, taken apart for every element although the next one has all digits but one in common

constexpr int PER_ROW = 64;

__device__ __forceinline__ unsigned taken_apart(unsigned i) {
    unsigned a = i % 7, b = i / 7 % 11, c = i / 77 % 13, d = i / 1001 % 17;  // FAULT
    return a * 2431 + b * 221 + c * 17 + d;                                  // FAULT
}

extern "C" __global__ void __launch_bounds__(256) index_taken_apart(const unsigned *in, float *out) {
    unsigned i = in[blockIdx.x * 256 + threadIdx.x] * 7, sum = 0;
#pragma unroll 4
    for (int k = 0; k < PER_ROW * 7; ++k) sum += taken_apart(i + k) ^ k;
    out[blockIdx.x * 256 + threadIdx.x] = float(sum & 0xfffff);
}

extern "C" __global__ void __launch_bounds__(256) index_taken_apart_fix(const unsigned *in, float *out) {
    unsigned i = in[blockIdx.x * 256 + threadIdx.x] * 7, sum = 0;
#pragma unroll 4
    for (int k = 0; k < PER_ROW * 7; k += 7) {
        unsigned first = taken_apart(i + k);
#pragma unroll
        for (int a = 0; a < 7; ++a) sum += first + a * 2431 ^ k + a;
    }
    out[blockIdx.x * 256 + threadIdx.x] = float(sum & 0xfffff);
}

CASE(index_taken_apart, OUT, THREADS, 1, nullptr, index_taken_apart<<<THREADS / 256, 256>>>(ROWS, OUT))
CASE(index_taken_apart_fix, OUT, THREADS, 1, "index_taken_apart",
     index_taken_apart_fix<<<THREADS / 256, 256>>>(ROWS, OUT))
