// Sums, scans, histograms and small sorts.
#include "../gallery.cuh"

// ---- statistics of rows of 32 values: five shuffles a row and statistic, or one

constexpr long ROWS_OF_32 = 1 << 20;

struct Add {
    __device__ float operator()(float a, float b) const { return a + b; }
};
struct Larger {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Smaller {
    __device__ float operator()(float a, float b) const { return fminf(a, b); }
};

template <typename Op>
__device__ __forceinline__ float over_warp(float v, Op op) {
#pragma unroll
    for (int d = 16; d > 0; d /= 2) v = op(v, __shfl_xor_sync(~0u, v, d));  // FAULT
    return v;
}

extern "C" __global__ void __launch_bounds__(256) reduce_rows_by_shuffles(const float *__restrict__ in, float *out) {
    long first = (blockIdx.x * 8L + threadIdx.x / 32) * 32, lane = threadIdx.x % 32;
    float own = 0;
#pragma unroll 8
    for (int r = 0; r < 32; ++r) {
        float v = in[(first + r) * 32 + lane];
        float sum = over_warp(v, Add()), squares = over_warp(v * v, Add());
        float all = sum - 0.125f * squares + over_warp(v, Larger()) * over_warp(v, Smaller());
        if (lane == r) own = all;
    }
    out[first + lane] = own;
}

// 32 rows together: each exchange halves the rows that a lane looks after. Lane l ends with row l.
template <typename Op>
__device__ __forceinline__ float of_own_row(const float *values, bool squared, Op op) {
    float v[32];
#pragma unroll
    for (int r = 0; r < 32; ++r) v[r] = squared ? values[r] * values[r] : values[r];
#pragma unroll
    for (int d = 16; d > 0; d /= 2)
#pragma unroll
        for (int r = 0; r < 16; ++r) {
            if (r >= d) continue;
            bool upper = threadIdx.x & d;
            float sent = upper ? v[r] : v[r + d], kept = upper ? v[r + d] : v[r];
            v[r] = op(kept, __shfl_xor_sync(~0u, sent, d));
        }
    return v[0];
}

extern "C" __global__ void __launch_bounds__(256) reduce_rows_by_shuffles_fix(const float *__restrict__ in,
                                                                             float *out) {
    long first = (blockIdx.x * 8L + threadIdx.x / 32) * 32, lane = threadIdx.x % 32;
    float v[32];
#pragma unroll
    for (int r = 0; r < 32; ++r) v[r] = in[(first + r) * 32 + lane];
    float sum = of_own_row(v, false, Add()), squares = of_own_row(v, true, Add());
    out[first + lane] = sum - 0.125f * squares + of_own_row(v, false, Larger()) * of_own_row(v, false, Smaller());
}

CASE(reduce_rows_by_shuffles, OUT, ROWS_OF_32, 1, nullptr,
     reduce_rows_by_shuffles<<<ROWS_OF_32 / 256, 256>>>(A, OUT))
CASE(reduce_rows_by_shuffles_fix, OUT, ROWS_OF_32, 1, "reduce_rows_by_shuffles",
     reduce_rows_by_shuffles_fix<<<ROWS_OF_32 / 256, 256>>>(A, OUT))

// ---- the largest of three figures, for four channels that lie beside each other

constexpr int SAMPLES_EACH = 64;

struct Figures {
    int a, b, c;
};

__device__ __forceinline__ Figures figures(unsigned v, int i) {
    unsigned mixed = (v + i) * 2654435761u;
    return {int(mixed >> 8 & 0xffff), int(mixed * 5 >> 9 & 0xffff), int((mixed ^ mixed >> 13) & 0xffff)};
}

extern "C" __global__ void __launch_bounds__(256) largest_by_atomics(const unsigned *__restrict__ in, int *out) {
    __shared__ int largest[12];
    if (threadIdx.x < 12) largest[threadIdx.x] = 0;
    __syncthreads();
    int channel = threadIdx.x % 4;
    for (int r = 0; r < SAMPLES_EACH; ++r) {
        int i = (blockIdx.x * SAMPLES_EACH + r) * 256 + threadIdx.x;
        Figures f = figures(in[i], i);
        atomicMax(&largest[channel], f.a);      // FAULT
        atomicMax(&largest[4 + channel], f.b);  // FAULT
        atomicMax(&largest[8 + channel], f.c);  // FAULT
    }
    __syncthreads();
    if (threadIdx.x < 12) atomicMax(out + threadIdx.x, largest[threadIdx.x]);
}

extern "C" __global__ void __launch_bounds__(256) largest_by_atomics_fix(const unsigned *__restrict__ in, int *out) {
    __shared__ int largest[12];
    if (threadIdx.x < 12) largest[threadIdx.x] = 0;
    __syncthreads();
    int channel = threadIdx.x % 4;
    Figures best = {0, 0, 0};
    for (int r = 0; r < SAMPLES_EACH; ++r) {
        int i = (blockIdx.x * SAMPLES_EACH + r) * 256 + threadIdx.x;
        Figures f = figures(in[i], i);
        best = {max(best.a, f.a), max(best.b, f.b), max(best.c, f.c)};
    }
    atomicMax(&largest[channel], best.a);
    atomicMax(&largest[4 + channel], best.b);
    atomicMax(&largest[8 + channel], best.c);
    __syncthreads();
    if (threadIdx.x < 12) atomicMax(out + threadIdx.x, largest[threadIdx.x]);
}

CASE(largest_by_atomics, SMALL, 12, 1, nullptr, largest_by_atomics<<<SMS * 8, 256>>>(ROWS, (int *)SMALL))
CASE(largest_by_atomics_fix, SMALL, 12, 1, "largest_by_atomics",
     largest_by_atomics_fix<<<SMS * 8, 256>>>(ROWS, (int *)SMALL))

// ---- histograms

constexpr int COUNTED = 16 << 20, COUNTERS = 256;

// Seven values of eight go to the same counter: nearly all lanes of a warp wait for one word.
extern "C" __global__ void __launch_bounds__(256) histogram_one_hot_bin(const float *__restrict__ in, int *out) {
    __shared__ int bins[COUNTERS];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < COUNTED; i += gridDim.x * 256) {
        int bin = in[i] < 7.0f ? 0 : i * 40503 >> 7 & 255;
        atomicAdd(&bins[bin], 1 + (i & 3));  // FAULT
    }
    __syncthreads();
    atomicAdd(out + threadIdx.x, bins[threadIdx.x]);
}

extern "C" __global__ void __launch_bounds__(256) histogram_one_hot_bin_fix(const float *__restrict__ in, int *out) {
    __shared__ int bins[COUNTERS];
    bins[threadIdx.x] = 0;
    __syncthreads();
    int hot = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < COUNTED; i += gridDim.x * 256) {
        if (in[i] < 7.0f) hot += 1 + (i & 3);
        else atomicAdd(&bins[i * 40503 >> 7 & 255], 1 + (i & 3));
    }
    atomicAdd(&bins[0], __reduce_add_sync(~0u, hot) * (threadIdx.x % 32 == 0));
    __syncthreads();
    atomicAdd(out + threadIdx.x, bins[threadIdx.x]);
}

CASE(histogram_one_hot_bin, SMALL, COUNTERS, 1, nullptr, histogram_one_hot_bin<<<SMS * 8, 256>>>(A, (int *)SMALL))
CASE(histogram_one_hot_bin_fix, SMALL, COUNTERS, 1, "histogram_one_hot_bin",
     histogram_one_hot_bin_fix<<<SMS * 8, 256>>>(A, (int *)SMALL))

// 8,192 counters in global memory: no two lanes meet often, but L2 has to add up every single one.
constexpr int MANY = 8192;

__device__ __forceinline__ int bin_of(float v, int i) { return (i * 2654435761u >> 19 ^ unsigned(v)) & (MANY - 1); }

extern "C" __global__ void __launch_bounds__(1024) histogram_in_global(const float *__restrict__ in, int *out) {
    for (int i = blockIdx.x * 1024 + threadIdx.x; i < COUNTED; i += gridDim.x * 1024)
        atomicAdd(out + bin_of(in[i], i), 1);  // FAULT
}

extern "C" __global__ void __launch_bounds__(1024) histogram_in_global_fix(const float *__restrict__ in, int *out) {
    __shared__ int bins[MANY];
    for (int k = threadIdx.x; k < MANY; k += 1024) bins[k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 1024 + threadIdx.x; i < COUNTED; i += gridDim.x * 1024)
        atomicAdd(&bins[bin_of(in[i], i)], 1);
    __syncthreads();
    for (int k = threadIdx.x; k < MANY; k += 1024) atomicAdd(out + k, bins[k]);
}

CASE(histogram_in_global, SMALL, MANY, 1, nullptr, histogram_in_global<<<SMS * 2, 1024>>>(A, (int *)SMALL))
CASE(histogram_in_global_fix, SMALL, MANY, 1, "histogram_in_global",
     histogram_in_global_fix<<<SMS * 2, 1024>>>(A, (int *)SMALL))

// Counters of a thread's own, 32 each, a row a thread: the bank is the bin, and neighbours count alike.
constexpr int WORDS_EACH = 128, OWN = 32, OWNERS = SMS * 14 * 128;

template <int A_BIN, int A_THREAD>
__device__ __forceinline__ void own_counts(const unsigned *__restrict__ in, float *out) {
    __shared__ int counts[128 * OWN];
    int *own = counts + threadIdx.x * A_THREAD, i = blockIdx.x * 128 + threadIdx.x;
    for (int bin = 0; bin < OWN; ++bin) own[bin * A_BIN] = 0;
#pragma unroll 4
    for (int r = 0; r < WORDS_EACH; ++r) {
        unsigned word = in[r * 128 + i];
#pragma unroll
        for (int q = 0; q < 4; ++q) own[((word >> q * 5) + threadIdx.x / 4 & 31) * A_BIN] += q + 1;  // FAULT
    }
    float sum = 0;
    for (int bin = 0; bin < OWN; ++bin) sum += own[bin * A_BIN] * float(bin % 7 + 1);
    out[i] = sum;
}

extern "C" __global__ void __launch_bounds__(128) histogram_row_a_thread(const unsigned *in, float *out) {
    own_counts<1, OWN>(in, out);
}

extern "C" __global__ void __launch_bounds__(128) histogram_row_a_thread_fix(const unsigned *in, float *out) {
    own_counts<128, 1>(in, out);
}

CASE(histogram_row_a_thread, OUT, OWNERS, 1, nullptr, histogram_row_a_thread<<<OWNERS / 128, 128>>>(ROWS, OUT))
CASE(histogram_row_a_thread_fix, OUT, OWNERS, 1, "histogram_row_a_thread",
     histogram_row_a_thread_fix<<<OWNERS / 128, 128>>>(ROWS, OUT))

// ---- running sums of 1,024 values: one thread adds up what the warps have, or a warp does

constexpr long SCANNED = 32L << 20;

__device__ __forceinline__ float running(float v) {
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        float before = __shfl_up_sync(~0u, v, d);
        if (threadIdx.x % 32 >= d) v += before;
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(1024) scan_totals_by_one_thread(const float *__restrict__ in, float *out) {
    __shared__ float totals[32];
    long i = blockIdx.x * 1024L + threadIdx.x;
    float v = running(in[i]);
    if (threadIdx.x % 32 == 31) totals[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (int w = 1; w < 32; ++w) totals[w] += totals[w - 1];
    }
    __syncthreads();  // FAULT
    out[i] = threadIdx.x < 32 ? v : v + totals[threadIdx.x / 32 - 1];
}

extern "C" __global__ void __launch_bounds__(1024) scan_totals_by_one_thread_fix(const float *__restrict__ in,
                                                                                float *out) {
    __shared__ float totals[32];
    long i = blockIdx.x * 1024L + threadIdx.x;
    float v = running(in[i]);
    if (threadIdx.x % 32 == 31) totals[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) totals[threadIdx.x] = running(totals[threadIdx.x]);
    __syncthreads();
    out[i] = threadIdx.x < 32 ? v : v + totals[threadIdx.x / 32 - 1];
}

CASE(scan_totals_by_one_thread, OUT, SCANNED, 1, nullptr,
     scan_totals_by_one_thread<<<SCANNED / 1024, 1024>>>(A, OUT))
CASE(scan_totals_by_one_thread_fix, OUT, SCANNED, 1, "scan_totals_by_one_thread",
     scan_totals_by_one_thread_fix<<<SCANNED / 1024, 1024>>>(A, OUT))
