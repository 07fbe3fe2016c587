// On the chip: shared memory banks, L1, L2, constant memory, local memory.
#include "gallery.cuh"

constexpr int SIDE = 6144;
constexpr long CELLS = long(SIDE) * SIDE;

// ---- shared memory banks

extern "C" __global__ void __launch_bounds__(256) shared_column_transpose(const float *__restrict__ in, float *out) {
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[long(y + j) * SIDE + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        out[long(y + j) * SIDE + x] = tile[threadIdx.x][threadIdx.y + j];  // FAULT
}

extern "C" __global__ void __launch_bounds__(256) healthy_transpose(const float *__restrict__ in, float *out) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[long(y + j) * SIDE + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[long(y + j) * SIDE + x] = tile[threadIdx.x][threadIdx.y + j];
}

CASE(shared_column_transpose, OUT, CELLS, 1, nullptr,
     shared_column_transpose<<<dim3(SIDE / 32, SIDE / 32), dim3(32, 8)>>>(A, OUT))
CASE(healthy_transpose, OUT, CELLS, 1, "load_column_transpose",
     healthy_transpose<<<dim3(SIDE / 32, SIDE / 32), dim3(32, 8)>>>(A, OUT))

// Every thread has a table of 16 numbers in shared memory and walks it, all at the same pace.
constexpr int WALKS = 400;

template <int STRIDE>
__device__ __forceinline__ float walk_tables(const float *in, float *tables) {
    long i = blockIdx.x * 256L + threadIdx.x;
    float *own = tables + threadIdx.x * STRIDE;
    for (int k = 0; k < 16; ++k) own[k] = in[k * (SMS * 8 * 256L) + i];
    int at = 0;
    float sum = 0;
#pragma unroll 8
    for (int r = 0; r < WALKS; ++r) {
        sum += own[at];  // FAULT
        at = (at + 5) & 15;
    }
    return sum;
}

extern "C" __global__ void __launch_bounds__(256) shared_stride_of_16(const float *in, float *out) {
    __shared__ float tables[256 * 16];
    out[blockIdx.x * 256 + threadIdx.x] = walk_tables<16>(in, tables);
}

extern "C" __global__ void __launch_bounds__(256) shared_stride_of_16_fix(const float *in, float *out) {
    __shared__ float tables[256 * 17];
    out[blockIdx.x * 256 + threadIdx.x] = walk_tables<17>(in, tables);
}

CASE(shared_stride_of_16, OUT, SMS * 8 * 256, 1, nullptr, shared_stride_of_16<<<SMS * 8, 256>>>(A, OUT))
CASE(shared_stride_of_16_fix, OUT, SMS * 8 * 256, 1, "shared_stride_of_16",
     shared_stride_of_16_fix<<<SMS * 8, 256>>>(A, OUT))

// Two lanes a bank when it stores to shared memory, hidden behind 1 GiB of DRAM traffic.
extern "C" __global__ void __launch_bounds__(256) shared_conflict_hidden(const float *__restrict__ in, float *out) {
    __shared__ float tile[4][512];
    const float *own = in + blockIdx.x * 1024L;
    float v[4];
    for (int k = 0; k < 4; ++k) v[k] = own[k * 256 + threadIdx.x];
    for (int k = 0; k < 4; ++k) tile[k][threadIdx.x * 2] = v[k];
    __syncthreads();
    for (int k = 0; k < 4; ++k) out[blockIdx.x * 1024L + k * 256 + threadIdx.x] = tile[k][(threadIdx.x ^ 32) * 2];
}

CASE(shared_conflict_hidden, OUT, BIG, 1, nullptr, shared_conflict_hidden<<<BIG / 1024, 256>>>(A, OUT))

// ---- L1

__constant__ float WEIGHTS[64];
constexpr int TAPS = 33, WIDTH = 4096, HEIGHT = 4096;

extern "C" __global__ void __launch_bounds__(256) l1_column_filter(const float *__restrict__ in, float *out) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < TAPS; ++k) sum += (k % 3 + 1) * in[(y + k) * WIDTH + x];  // FAULT
    out[y * WIDTH + x] = sum;
}

// Sixteen results a thread: every value is loaded once and used from registers.
extern "C" __global__ void __launch_bounds__(128) l1_column_filter_fix(const float *__restrict__ in, float *out) {
    constexpr int ROWS_EACH = 16;
    int x = blockIdx.x * 128 + threadIdx.x, y = blockIdx.y * ROWS_EACH;
    float sum[ROWS_EACH] = {};
#pragma unroll
    for (int k = 0; k < TAPS + ROWS_EACH - 1; ++k) {
        float v = in[(y + k) * WIDTH + x];
#pragma unroll
        for (int r = 0; r < ROWS_EACH; ++r)
            if (k >= r && k - r < TAPS) sum[r] += ((k - r) % 3 + 1) * v;
    }
    for (int r = 0; r < ROWS_EACH; ++r) out[(y + r) * WIDTH + x] = sum[r];
}

CASE(l1_column_filter, OUT, long(WIDTH) * HEIGHT, 1, nullptr,
     l1_column_filter<<<dim3(WIDTH / 32, HEIGHT / 8), dim3(32, 8)>>>(A, OUT))
CASE(l1_column_filter_fix, OUT, long(WIDTH) * HEIGHT, 1, "l1_column_filter",
     l1_column_filter_fix<<<dim3(WIDTH / 128, HEIGHT / 16), 128>>>(A, OUT))

// A sum over a table of 32 KiB, with powers of a number that each thread has of its own.
constexpr int TERMS = 256, SERIES_BLOCKS = SMS * 8 * 2;
constexpr long SERIES = SERIES_BLOCKS * 256;

extern "C" __global__ void __launch_bounds__(256) l1_series(const float *__restrict__ table, const float *in, float *out) {
    long i = blockIdx.x * 256L + threadIdx.x;
    float sums[4] = {};
    for (int round = 0; round < 4; ++round) {
        float x = in[i + round * SERIES] * 0.0625f;
#pragma unroll 8
        for (int j = 0; j < TERMS; ++j)
            sums[round] = fmaf(sums[round], x, __ldg(table + j * 32 + threadIdx.x % 32));  // FAULT
    }
    for (int round = 0; round < 4; ++round) out[i + round * SERIES] = sums[round];
}

extern "C" __global__ void __launch_bounds__(256) l1_series_fix(const float *__restrict__ table, const float *in,
                                                               float *out) {
    long i = blockIdx.x * 256L + threadIdx.x;
    float sums[4] = {}, x[4];
    for (int round = 0; round < 4; ++round) x[round] = in[i + round * SERIES] * 0.0625f;
#pragma unroll 8
    for (int j = 0; j < TERMS; ++j) {
        float term = __ldg(table + j * 32 + threadIdx.x % 32);
#pragma unroll
        for (int round = 0; round < 4; ++round) sums[round] = fmaf(sums[round], x[round], term);
    }
    for (int round = 0; round < 4; ++round) out[i + round * SERIES] = sums[round];
}

CASE(l1_series, OUT, SERIES_BLOCKS * 256 * 4, 1, nullptr, l1_series<<<SERIES_BLOCKS, 256>>>(B, A, OUT))
CASE(l1_series_fix, OUT, SERIES_BLOCKS * 256 * 4, 1, "l1_series", l1_series_fix<<<SERIES_BLOCKS, 256>>>(B, A, OUT))

// Three loads an element of which two hit L1; DRAM is what it waits for.
extern "C" __global__ void __launch_bounds__(256) l1_reuse_beside_dram(const float4 *__restrict__ in, float4 *out) {
    long i = (blockIdx.x * 8L + threadIdx.y * 1L) * (WIDTH / 4) + blockIdx.y * 32 + threadIdx.x;
    float4 a = in[i], b = in[i + WIDTH / 4], c = in[i + WIDTH / 2];
    out[i] = make_float4(a.x + b.x + c.x, a.y + b.y + c.y, a.z + b.z + c.z, a.w + b.w + c.w);
}

CASE(l1_reuse_beside_dram, OUT, (32768L - 8) * WIDTH, 1, nullptr,
     l1_reuse_beside_dram<<<dim3(32768 / 8 - 1, WIDTH / 128), dim3(32, 8)>>>((float4 *)A, (float4 *)OUT))

// ---- L2

constexpr int TABLE = 5 << 20;  // floats: 20 MiB, a third of the L2

extern "C" __global__ void __launch_bounds__(256) l2_scattered_rows(const float4 *__restrict__ table, float *out) {
    unsigned warp = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float sum = 0;
    unsigned at = warp * 2654435761u;
    for (int r = 0; r < 24; ++r) {
        float4 v[8];
        for (int k = 0; k < 8; ++k) {
            at = at * 1664525u + 1013904223u;
            v[k] = table[(at >> 8) % (TABLE / 128) * 32 + lane];  // FAULT
        }
        for (int k = 0; k < 8; ++k) sum += sum4(v[k]);
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}

CASE(l2_scattered_rows, OUT, SMS * 8 * 256, 1, nullptr, l2_scattered_rows<<<SMS * 8, 256>>>((float4 *)A, OUT))

constexpr int SWEEPS = 32, SWEEP_STEP = SMS * 4 * 512;

// A sweep over the table for every sum; another block's stretch each time, so that L1 cannot keep it.
extern "C" __global__ void __launch_bounds__(512) l2_sweep_a_sum(const float4 *__restrict__ in, float *out) {
#pragma unroll 1
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        float sum = 0, shift = sweep * 0.125f;
        int first = (blockIdx.x + sweep * 67) % (SMS * 4) * 512 + threadIdx.x;
#pragma unroll 4
        for (int i = first; i < TABLE / 4; i += SWEEP_STEP) {
            float4 v = in[i];  // FAULT
            sum += fabsf(v.x - shift) + fabsf(v.y - shift) + fabsf(v.z - shift) + fabsf(v.w - shift);
        }
        sum = warp_sum(sum);
        if (threadIdx.x % 32 == 0) out[(sweep * SMS * 4 + blockIdx.x) * 16 + threadIdx.x / 32] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(512) l2_sweep_a_sum_fix(const float4 *__restrict__ in, float *out) {
    float sums[SWEEPS] = {};
    for (int i = blockIdx.x * 512 + threadIdx.x; i < TABLE / 4; i += SWEEP_STEP) {
        float4 v = in[i];
#pragma unroll
        for (int sweep = 0; sweep < SWEEPS; ++sweep) {
            float shift = sweep * 0.125f;
            sums[sweep] += fabsf(v.x - shift) + fabsf(v.y - shift) + fabsf(v.z - shift) + fabsf(v.w - shift);
        }
    }
#pragma unroll
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        float sum = warp_sum(sums[sweep]);
        int place = (blockIdx.x + sweep * (SMS * 4 - 67)) % (SMS * 4);  // as in the other kernel
        if (threadIdx.x % 32 == 0) out[(sweep * SMS * 4 + place) * 16 + threadIdx.x / 32] = sum;
    }
}

CASE(l2_sweep_a_sum, OUT, SMS * 4 * 16 * SWEEPS, 1, nullptr, l2_sweep_a_sum<<<SMS * 4, 512>>>((float4 *)A, OUT))
CASE(l2_sweep_a_sum_fix, OUT, SMS * 4 * 16 * SWEEPS, 1, "l2_sweep_a_sum",
     l2_sweep_a_sum_fix<<<SMS * 4, 512>>>((float4 *)A, OUT))

// Each element is read by two blocks at about the same time: half the reads hit L2, DRAM is full all the same.
extern "C" __global__ void __launch_bounds__(256) l2_hits_beside_dram(const float4 *__restrict__ in, float4 *out) {
    long i = (blockIdx.x / 2) * 512L + threadIdx.x;
    float4 a = in[i], b = in[i + 256];
    if (blockIdx.x % 2) out[i] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    else out[i + 256] = make_float4(a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w);
}

CASE(l2_hits_beside_dram, OUT, BIG, 1, nullptr,
     l2_hits_beside_dram<<<BIG / 1024, 256>>>((float4 *)A, (float4 *)OUT))

// ---- constant memory

__constant__ float CURVE[1024];
constexpr int READS = 200;

extern "C" __global__ void __launch_bounds__(256) constant_lane_table(const float *in, float *out) {
    long i = blockIdx.x * 256L + threadIdx.x;
    int at = threadIdx.x * 17;
    float sum = in[i];
#pragma unroll 4
    for (int r = 0; r < READS; ++r) {
        sum += CURVE[at & 1023];  // FAULT
        at += 33;
    }
    out[i] = sum;
}

extern "C" __global__ void __launch_bounds__(256) constant_lane_table_fix(const float *in, const float *curve,
                                                                         float *out) {
    __shared__ float own[1024];
    for (int k = threadIdx.x; k < 1024; k += 256) own[k] = curve[k];
    __syncthreads();
    long i = blockIdx.x * 256L + threadIdx.x;
    int at = threadIdx.x * 17;
    float sum = in[i];
#pragma unroll 4
    for (int r = 0; r < READS; ++r) {
        sum += own[at & 1023];
        at += 33;
    }
    out[i] = sum;
}

static void set_constants() {
    static bool done = false;
    if (done) return;
    CHECK(cudaMemcpyToSymbol(CURVE, A, sizeof(CURVE), 0, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpyToSymbol(WEIGHTS, A, sizeof(WEIGHTS), 0, cudaMemcpyDeviceToDevice));
    done = true;
}

CASE(constant_lane_table, OUT, SMS * 8 * 256, 1, nullptr,
     set_constants(); constant_lane_table<<<SMS * 8, 256>>>(A, OUT))
CASE(constant_lane_table_fix, OUT, SMS * 8 * 256, 1, "constant_lane_table",
     set_constants(); constant_lane_table_fix<<<SMS * 8, 256>>>(A, A, OUT))

// Eight kinds of element, each with coefficients of its own: eight addresses a warp.
extern "C" __global__ void __launch_bounds__(256) constant_by_kind(const float *in, float *out) {
    long i = blockIdx.x * 256L + threadIdx.x;
    int kind = threadIdx.x % 8;
    float x = in[i] * 0.125f, sum = 0;
    for (int r = 0; r < 16; ++r)
#pragma unroll 8
        for (int k = 0; k < 32; ++k) sum = fmaf(sum, x, CURVE[kind * 128 + r + k]);  // FAULT
    out[i] = sum;
}

CASE(constant_by_kind, OUT, SMS * 8 * 256, 1, nullptr,
     set_constants(); constant_by_kind<<<SMS * 8, 256>>>(A, OUT))

// Every lane reads the same constant, which costs nothing beside the sums.
extern "C" __global__ void __launch_bounds__(256) constant_same_for_all(const float *in, float *out) {
    long i = blockIdx.x * 256L + threadIdx.x;
    float x[8];
    for (int k = 0; k < 8; ++k) x[k] = in[i + k] * 0.125f;
    for (int r = 0; r < 128; ++r)
#pragma unroll
        for (int k = 0; k < 16; ++k)
#pragma unroll
            for (int m = 0; m < 8; ++m) x[m] = fmaf(x[m], 0.5f, WEIGHTS[k]);
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += x[k];
    out[i] = sum;
}

CASE(constant_same_for_all, OUT, SMS * 8 * 256, 1, nullptr,
     set_constants(); constant_same_for_all<<<SMS * 8, 256>>>(A, OUT))

// ---- local memory

extern "C" __global__ void __launch_bounds__(256) local_histogram(const int *in, float *out) {
    int bins[64];
    for (int k = 0; k < 64; ++k) bins[k] = 0;
    long i = blockIdx.x * 256L + threadIdx.x;
#pragma unroll 4
    for (int r = 0; r < 128; ++r) bins[(in[i + r * 16] >> 20 ^ r * 5) & 63] += r;  // FAULT
    float sum = 0;
    for (int k = 0; k < 64; ++k) sum += bins[k] * float(k % 7 + 1);
    out[i] = sum;
}

// The same bins in shared memory, a column a thread: no conflicts.
extern "C" __global__ void __launch_bounds__(128) local_histogram_fix(const int *in, float *out) {
    extern __shared__ int all_bins[];
    int *bins = all_bins + threadIdx.x;
    for (int k = 0; k < 64; ++k) bins[k * 128] = 0;
    long i = blockIdx.x * 128L + threadIdx.x;
#pragma unroll 4
    for (int r = 0; r < 128; ++r) bins[((in[i + r * 16] >> 20 ^ r * 5) & 63) * 128] += r;
    float sum = 0;
    for (int k = 0; k < 64; ++k) sum += bins[k * 128] * float(k % 7 + 1);
    out[i] = sum;
}

constexpr int COUNTERS = SMS * 8 * 256 * 4;
CASE(local_histogram, OUT, COUNTERS, 1, nullptr, local_histogram<<<COUNTERS / 256, 256>>>((int *)A, OUT))
CASE(local_histogram_fix, OUT, COUNTERS, 1, "local_histogram", {
    allow_shared(local_histogram_fix, 64 * 128 * 4);
    local_histogram_fix<<<COUNTERS / 128, 128, 64 * 128 * 4>>>((int *)A, OUT);
})

// Walks a tree with a stack of its own: what to visit next is pushed and popped.
extern "C" __global__ void __launch_bounds__(256) local_stack(const float *tree, float *out, int nodes) {
    int stack[48];
    long i = blockIdx.x * 256L + threadIdx.x;
    int depth = 0;
    float sum = i % 7;
    stack[depth++] = 1;
    while (depth > 0) {
        int node = stack[--depth];  // FAULT
        sum = fmaf(sum, 0.5f, float(node & 15));
        if (2 * node < nodes) {
            stack[depth++] = 2 * node;
            stack[depth++] = 2 * node + 1;
        }
    }
    out[i] = sum;
}

CASE(local_stack, OUT, SMS * 8 * 256, 1, nullptr, local_stack<<<SMS * 8, 256>>>(A, OUT, 1024))

// An array indexed at run time, once a thread, after 2,048 rounds of sums.
extern "C" __global__ void __launch_bounds__(256) local_array_once(const float *in, float *out, int which) {
    float x[8];
    long i = blockIdx.x * 256L + threadIdx.x;
    for (int k = 0; k < 8; ++k) x[k] = in[i + k];
    for (int r = 0; r < 2048; ++r)
#pragma unroll
        for (int k = 0; k < 8; ++k) x[k] = fmaf(x[k], 0.5f, 1.0f + k);
    float last[32];
    for (int k = 0; k < 32; ++k) last[k] = x[k % 8] * k;
    out[i] = last[(which + threadIdx.x) & 31] + last[(which + 3) & 31];
}

CASE(local_array_once, OUT, SMS * 8 * 256, 1, nullptr, local_array_once<<<SMS * 8, 256>>>(A, OUT, 2))
