// Integers and sequences: scan, sort, alignment, rolling hashes, random numbers, sampling.
#include "../gallery.cuh"

constexpr int SCAN = 1024, SCAN_ROWS = 32768;

// Running sums of rows of 1024 by doubling: ten steps of a load, a sum and a store, 21 barriers of 32 warps. With two
// blocks an SM the row takes some 2000 cycles, two and a half times what DRAM needs for it. The fix has two barriers:
// about 2x.
extern "C" __global__ void __launch_bounds__(1024, 2) scan_barrier_a_step(const float *in, float *out) {
    __shared__ float row[SCAN];
    int t = threadIdx.x;
    long at = blockIdx.x * (long)SCAN + t;
    float v = in[at];
    row[t] = v;
    __syncthreads();  // FAULT
#pragma unroll
    for (int d = 1; d < SCAN; d *= 2) {
        float left = t >= d ? row[t - d] : 0.0f;
        __syncthreads();  // FAULT
        v += left;
        row[t] = v;
        __syncthreads();  // FAULT
    }
    out[at] = v;
}

__device__ __forceinline__ float warp_scan(float v, int lane) {
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        float left = __shfl_up_sync(~0u, v, d);
        if (lane >= d) v += left;
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(1024, 2) scan_barrier_a_step_fix(const float *in, float *out) {
    __shared__ float sums[32];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    long at = blockIdx.x * (long)SCAN + t;
    float v = warp_scan(in[at], lane);
    if (lane == 31) sums[warp] = v;
    __syncthreads();
    if (warp == 0) sums[lane] = warp_scan(sums[lane], lane);
    __syncthreads();
    out[at] = warp > 0 ? v + sums[warp - 1] : v;
}

CASE(scan_barrier_a_step, OUT, (long)SCAN *SCAN_ROWS, 1, nullptr, scan_barrier_a_step<<<SCAN_ROWS, 1024>>>(A, OUT))
CASE(scan_barrier_a_step_fix, OUT, (long)SCAN *SCAN_ROWS, 1, "scan_barrier_a_step",
     scan_barrier_a_step_fix<<<SCAN_ROWS, 1024>>>(A, OUT))

constexpr int RECORDS = 1024, WORDS = 8, SORTS = SMS * 6;

__device__ __forceinline__ unsigned mixed(unsigned i) {
    i ^= i >> 16, i *= 0x7feb352du, i ^= i >> 15, i *= 0x846ca68bu;
    return i ^ (i >> 16);
}

template <bool RECORD_BY_RECORD>
__device__ __forceinline__ int word_at(int record, int word) {
    return RECORD_BY_RECORD ? record * WORDS + word : word * RECORDS + record;
}

// Bitonic sort of 1024 records of a key and seven words.
template <bool RECORD_BY_RECORD>
__device__ __forceinline__ void sort_records(const float *in, float *out) {
    __shared__ unsigned words[RECORDS * WORDS];
    long base = (long)blockIdx.x * RECORDS * WORDS;
    for (int i = threadIdx.x; i < RECORDS * WORDS; i += 256)
        words[word_at<RECORD_BY_RECORD>(i / WORDS, i % WORDS)] =
            i % WORDS ? __float_as_uint(in[base + i]) : mixed(blockIdx.x * RECORDS + i / WORDS);
#pragma unroll 1
    for (int k = 2; k <= RECORDS; k *= 2)
#pragma unroll 1
        for (int j = k / 2; j > 0; j /= 2) {
            __syncthreads();
#pragma unroll
            for (int p = threadIdx.x; p < RECORDS / 2; p += 256) {
                int low = 2 * p - (p & (j - 1)), high = low + j;
                unsigned a = words[word_at<RECORD_BY_RECORD>(low, 0)];   // FAULT
                unsigned b = words[word_at<RECORD_BY_RECORD>(high, 0)];  // FAULT
                if ((a > b) == !(low & k))
#pragma unroll
                    for (int w = 0; w < WORDS; ++w) {
                        unsigned &x = words[word_at<RECORD_BY_RECORD>(low, w)], &y = words[word_at<RECORD_BY_RECORD>(high, w)];
                        unsigned held = x;  // FAULT
                        x = y;              // FAULT
                        y = held;           // FAULT
                    }
            }
        }
    __syncthreads();
    for (int i = threadIdx.x; i < RECORDS * WORDS; i += 256) {
        unsigned word = words[word_at<RECORD_BY_RECORD>(i / WORDS, i % WORDS)];
        out[base + i] = i % WORDS ? __uint_as_float(word) : float(word >> 16);
    }
}

// The records lie one after another in shared memory: a warp that looks at a word of 32 of them meets four banks. Eight
// wavefronts or more for one; as arrays of words it is one or two. Barriers and idle lanes stay. About 3x.
extern "C" __global__ void __launch_bounds__(256) sort_whole_records(const float *in, float *out) {
    sort_records<true>(in, out);
}

extern "C" __global__ void __launch_bounds__(256) sort_whole_records_fix(const float *in, float *out) {
    sort_records<false>(in, out);
}

CASE(sort_whole_records, OUT, (long)SORTS *RECORDS *WORDS, 1, nullptr, sort_whole_records<<<SORTS, 256>>>(A, OUT))
CASE(sort_whole_records_fix, OUT, (long)SORTS *RECORDS *WORDS, 1, "sort_whole_records",
     sort_whole_records_fix<<<SORTS, 256>>>(A, OUT))

constexpr int LENGTH = 256, PAIRS = SMS * 64, NONE = -1000;

struct Cells {
    int left, e, f, diagonal, best;
};

// One cell of a local alignment with affine gaps; `up` and `up_f` come from the row above.
__device__ __forceinline__ void align_cell(Cells &c, int up, int up_f, bool same) {
    c.e = max(c.e - 1, c.left - 4);                                    // FAULT
    c.f = max(up_f - 1, up - 4);                                       // FAULT
    int h = max(max(c.diagonal + (same ? 3 : -2), 0), max(c.e, c.f));  // FAULT
    c.diagonal = up, c.left = h;                                       // FAULT
    c.best = max(c.best, h);                                           // FAULT
}

// A warp aligns two strings: lane r has a row of a strip of 32 rows and lags r columns behind the first.
template <int COLUMNS>
__device__ __forceinline__ void align_strings(const float *a, const float *b, float *out) {
    __shared__ int edge_h[8][LENGTH + 4], edge_f[8][LENGTH + 4];
    __shared__ unsigned char letters[8][LENGTH];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, pair = blockIdx.x * 8 + warp;
    for (int j = lane; j < LENGTH; j += 32) {
        edge_h[warp][j] = 0, edge_f[warp][j] = NONE;
        letters[warp][j] = int(b[pair * LENGTH + j]) & 3;
    }
    __syncwarp();
    Cells c = {};
#pragma unroll 1
    for (int strip = 0; strip < LENGTH / 32; ++strip) {
        int letter = int(a[pair * LENGTH + strip * 32 + lane]) & 3;
        c.left = 0, c.e = NONE, c.f = NONE, c.diagonal = 0;
#pragma unroll 1
        for (int first = 0; first < LENGTH; first += COLUMNS)
#pragma unroll 1
            for (int t = 0; t < COLUMNS + 31; ++t) {
                int up = __shfl_up_sync(~0u, c.left, 1), up_f = __shfl_up_sync(~0u, c.f, 1);
                int x = t - lane, j = first + x;
                if (x >= 0 && x < COLUMNS) {  // FAULT
                    if (lane == 0) up = edge_h[warp][j], up_f = edge_f[warp][j];  // FAULT
                    align_cell(c, up, up_f, letters[warp][j] == letter);  // FAULT
                    if (lane == 31) edge_h[warp][j] = c.left, edge_f[warp][j] = c.f;  // FAULT
                }
                __syncwarp();
            }
    }
    for (int d = 16; d > 0; d /= 2) c.best = max(c.best, __shfl_xor_sync(~0u, c.best, d));
    if (lane == 0) out[pair] = c.best;
}

// Subtle: full occupancy, issue slots busy; but a tile of 32 x 32 has 63 diagonals, and on average half of the lanes
// have a cell of one. The fix runs along the whole strip, 287 steps instead of 504: about 1.7x.
extern "C" __global__ void __launch_bounds__(256, 8) align_tile_by_tile(const float *a, const float *b, float *out) {
    align_strings<32>(a, b, out);
}

extern "C" __global__ void __launch_bounds__(256, 8) align_tile_by_tile_fix(
    const float *a, const float *b, float *out) {
    align_strings<LENGTH>(a, b, out);
}

CASE(align_tile_by_tile, OUT, PAIRS, 1, nullptr, align_tile_by_tile<<<PAIRS / 8, 256>>>(A, B, OUT))
CASE(align_tile_by_tile_fix, OUT, PAIRS, 1, "align_tile_by_tile", align_tile_by_tile_fix<<<PAIRS / 8, 256>>>(A, B, OUT))

constexpr int TEXTS = SMS * 16 * 256, TEXT = 32;
constexpr unsigned long long MODULUS = 4294967291;  // 2^32 - 5

template <typename Step>
__device__ __forceinline__ void roll(const float *text, float *out, Step step) {
    int me = blockIdx.x * 256 + threadIdx.x;
    unsigned long long h[4] = {1, 2, 3, 4};
    const unsigned long long bases[4] = {2654435761u, 2246822519u, 3266489917u, 4026531839u};
#pragma unroll 1
    for (int i = 0; i < TEXT; ++i) {
        unsigned letter = text[(long)i * TEXTS + me];
#pragma unroll
        for (int k = 0; k < 4; ++k) h[k] = step(h[k] * bases[k] + letter);
    }
    out[me] = unsigned(h[0] ^ h[1] ^ h[2] ^ h[3]) >> 16;
}

// Four rolling hashes, each with a remainder of 64 bits by a number known at run time: a routine of some 70
// instructions, products of 64 bits most of them, where the fix folds the high half by the known modulus in ten. At
// least 4x.
__device__ __forceinline__ unsigned long long remainder_of(unsigned long long v, unsigned long long modulus) {
    return v % modulus;  // FAULT
}

extern "C" __global__ void __launch_bounds__(256) hashes_by_remainder(
    const float *text, float *out, unsigned long long modulus) {
    roll(text, out, [=](unsigned long long v) { return remainder_of(v, modulus); });
}

extern "C" __global__ void __launch_bounds__(256) hashes_by_remainder_fix(const float *text, float *out) {
    roll(text, out, [](unsigned long long v) {
        v = (v >> 32) * 5 + (unsigned)v;
        v = (v >> 32) * 5 + (unsigned)v;
        return v >= MODULUS ? v - MODULUS : v;
    });
}

CASE(hashes_by_remainder, OUT, TEXTS, 1, nullptr, hashes_by_remainder<<<TEXTS / 256, 256>>>(A, OUT, MODULUS))
CASE(hashes_by_remainder_fix, OUT, TEXTS, 1, "hashes_by_remainder",
     hashes_by_remainder_fix<<<TEXTS / 256, 256>>>(A, OUT))

constexpr int DRAWERS = SMS * 8 * 256, DRAWS = 96;

// A point in the square of side 2, by Philox.
__device__ __forceinline__ float2 draw_point(unsigned counter, unsigned who) {
    unsigned x = counter, y = who, z = 0, w = 0, k0 = 0x2545f491u, k1 = 0x9e3779b9u;
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        unsigned lo0 = x * 0xd2511f53u, hi0 = __umulhi(x, 0xd2511f53u);  // FAULT
        unsigned lo1 = z * 0xcd9e8d57u, hi1 = __umulhi(z, 0xcd9e8d57u);  // FAULT
        x = hi1 ^ y ^ k0, y = lo1, z = hi0 ^ w ^ k1, w = lo0;  // FAULT
        k0 += 0x9e3779b9u, k1 += 0xbb67ae85u;
    }
    return {int(x) * 4.6566129e-10f, int(z) * 4.6566129e-10f};
}

__device__ __forceinline__ float normal_of(float2 p, float s) { return fabsf(p.x) * sqrtf(-2 * __logf(s) / s); }

// Subtle: the ALU and FMA pipes are rather busy with Philox, but the loop turns until the last of 32 lanes has a point
// in the circle, 3.4 times where a lane needs 1.27. The fix lets every lane go on to its next number: about 1.8x.
extern "C" __global__ void __launch_bounds__(256) normals_wait_for_last(float *out) {
    unsigned me = blockIdx.x * 256 + threadIdx.x, counter = 0;
    float sum = 0;
#pragma unroll 1
    for (int n = 0; n < DRAWS; ++n) {
        float2 p;
        float s;
        do {
            p = draw_point(counter++, me);  // FAULT
            s = p.x * p.x + p.y * p.y;      // FAULT
        } while (s >= 1.0f || s == 0.0f);   // FAULT
        sum += normal_of(p, s);
    }
    out[me] = sum;
}

extern "C" __global__ void __launch_bounds__(256) normals_wait_for_last_fix(float *out) {
    unsigned me = blockIdx.x * 256 + threadIdx.x, counter = 0;
    float sum = 0;
#pragma unroll 1
    for (int n = 0; n < DRAWS;) {
        float2 p = draw_point(counter++, me);
        float s = p.x * p.x + p.y * p.y;
        if (s < 1.0f && s != 0.0f) sum += normal_of(p, s), ++n;
    }
    out[me] = sum;
}

CASE(normals_wait_for_last, OUT, DRAWERS, 1, nullptr, normals_wait_for_last<<<DRAWERS / 256, 256>>>(OUT))
CASE(normals_wait_for_last_fix, OUT, DRAWERS, 1, "normals_wait_for_last",
     normals_wait_for_last_fix<<<DRAWERS / 256, 256>>>(OUT))
