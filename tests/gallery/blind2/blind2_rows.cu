// Rows: attention a thread, statistics of layer norm, sampling from a table of sums.
#include "../gallery.cuh"

constexpr int MAX_DIM = 32, QUERIES = SMS * 4 * 256, KEYS = 256, TILE = 128;

// A query a thread, inputs turned so that neighbours lie together. The size of a head is known only at run time, so the
// query and the sums are arrays in local memory: 96 accesses a key beside 64 FMAs, and
// 256 KiB an SM, more than L1 has left. The fix knows 32: at least 3x.
extern "C" __global__ void __launch_bounds__(256, 2) attend_any_head_size(
    const float *q, const float *k, const float *v, float *out, int dim) {
    __shared__ __align__(16) float keys[TILE * MAX_DIM], values[TILE * MAX_DIM];
    float query[MAX_DIM], sum[MAX_DIM], total = 0;
    long me = blockIdx.x * 256L + threadIdx.x;
    for (int d = 0; d < dim; ++d) query[d] = q[d * (long)QUERIES + me] / 256, sum[d] = 0;
    for (int first = 0; first < KEYS; first += TILE) {
        __syncthreads();
        for (int i = threadIdx.x; i < TILE * dim; i += 256) keys[i] = k[first * dim + i], values[i] = v[first * dim + i];
        __syncthreads();
#pragma unroll 1
        for (int j = 0; j < TILE; ++j) {
            float score = 0;
            for (int d = 0; d < dim; ++d) score = fmaf(query[d], keys[j * dim + d], score);  // FAULT
            float p = exp2f(score);
            total += p;
            for (int d = 0; d < dim; ++d) sum[d] = fmaf(p, values[j * dim + d], sum[d]);  // FAULT
        }
    }
    for (int d = 0; d < dim; ++d) out[d * (long)QUERIES + me] = sum[d] / total;
}

extern "C" __global__ void __launch_bounds__(256, 2) attend_any_head_size_fix(
    const float *q, const float *k, const float *v, float *out) {
    __shared__ __align__(16) float keys[TILE * MAX_DIM], values[TILE * MAX_DIM];
    constexpr int dim = MAX_DIM;
    float query[MAX_DIM], sum[MAX_DIM], total = 0;
    long me = blockIdx.x * 256L + threadIdx.x;
#pragma unroll
    for (int d = 0; d < dim; ++d) query[d] = q[d * (long)QUERIES + me] / 256, sum[d] = 0;
    for (int first = 0; first < KEYS; first += TILE) {
        __syncthreads();
        for (int i = threadIdx.x; i < TILE * dim; i += 256) keys[i] = k[first * dim + i], values[i] = v[first * dim + i];
        __syncthreads();
#pragma unroll 1
        for (int j = 0; j < TILE; ++j) {
            float score = 0;
#pragma unroll
            for (int d = 0; d < dim; ++d) score = fmaf(query[d], keys[j * dim + d], score);
            float p = exp2f(score);
            total += p;
#pragma unroll
            for (int d = 0; d < dim; ++d) sum[d] = fmaf(p, values[j * dim + d], sum[d]);
        }
    }
#pragma unroll
    for (int d = 0; d < dim; ++d) out[d * (long)QUERIES + me] = sum[d] / total;
}

CASE(attend_any_head_size, OUT, (long)QUERIES *MAX_DIM, 1, nullptr,
     attend_any_head_size<<<QUERIES / 256, 256>>>(A, B, B + (1 << 20), OUT, MAX_DIM))
CASE(attend_any_head_size_fix, OUT, (long)QUERIES *MAX_DIM, 1, "attend_any_head_size",
     attend_any_head_size_fix<<<QUERIES / 256, 256>>>(A, B, B + (1 << 20), OUT))

constexpr int NORMED = SMS * 8 * 256, WIDTH = 128;

// Subtle: L1 hits seven times of eight, DRAM reads nothing twice and is a quarter busy, and everybody waits on loads;
// but a load of a warp touches 32 lines and takes L1 32 turns instead of one. A warp a row is bound by DRAM: 3x or
// more.
extern "C" __global__ void __launch_bounds__(256) norm_thread_a_row(const float *in, float *out) {
    long row = blockIdx.x * 256L + threadIdx.x;
    float sum = 0, squares = 0;
#pragma unroll 8
    for (int i = 0; i < WIDTH; ++i) {
        float v = in[row * WIDTH + i];  // FAULT
        sum += v, squares = fmaf(v, v, squares);
    }
    float mean = sum / WIDTH;
    out[row] = mean;
    out[NORMED + row] = rsqrtf(squares / WIDTH - mean * mean + 1e-5f);
}

extern "C" __global__ void __launch_bounds__(256) norm_thread_a_row_fix(const float *in, float *out) {
    long row = blockIdx.x * 8L + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    float sum = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < WIDTH / 32; ++i) {
        float v = in[row * WIDTH + i * 32 + lane];
        sum += v, squares = fmaf(v, v, squares);
    }
    sum = warp_sum(sum), squares = warp_sum(squares);
    if (lane) return;
    float mean = sum / WIDTH;
    out[row] = mean;
    out[NORMED + row] = rsqrtf(squares / WIDTH - mean * mean + 1e-5f);
}

CASE(norm_thread_a_row, OUT, 2L * NORMED, 1, nullptr, norm_thread_a_row<<<NORMED / 256, 256>>>(A, OUT))
CASE(norm_thread_a_row_fix, OUT, 2L * NORMED, 1, "norm_thread_a_row",
     norm_thread_a_row_fix<<<NORMED / 8, 256>>>(A, OUT))

constexpr int STEPS = 22, TABLE = 1 << STEPS, SAMPLES = 8, SAMPLERS = SMS * 16;
static float *running_sums;

__global__ void make_sums(float *out) {
    for (int i = blockIdx.x * 256 + threadIdx.x; i < TABLE; i += gridDim.x * 256) out[i] = 3.0f * i + i % 3;
}

static void set_sums() {
    static bool done = [] {
        CHECK(cudaMalloc(&running_sums, TABLE * 4));
        make_sums<<<1024, 256>>>(running_sums);
        CHECK(cudaDeviceSynchronize());
        return true;
    }();
    (void)done;
}

// Samples by bisection of a table of running sums of 16 MiB, which L2 holds.
__device__ __forceinline__ void bisect(const float *sums, float *out) {
    extern __shared__ float staged[];
    unsigned me = blockIdx.x * 128 + threadIdx.x;
#pragma unroll 1
    for (int n = 0; n < SAMPLES; ++n) {
        unsigned h = (me * SAMPLES + n) * 2654435761u;
        h ^= h >> 15, h *= 0x846ca68bu, h ^= h >> 13;
        float wanted = 3.0f * (h >> (32 - STEPS)) + 1.5f;
        int at = 0;
#pragma unroll 1
        for (int half = TABLE / 2; half > 0; half /= 2)
            if (__ldg(sums + at + half) <= wanted) at += half;
        staged[n * 128 + threadIdx.x] = at;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < SAMPLES * 128; i += 128) out[blockIdx.x * 128L * SAMPLES + i] = staged[i];
}

// Subtle: the loads of the lower half are scattered and hit L2, DRAM and every pipe are idle; but the block asked for
// room for the longest list of samples, 180 KiB, and uses 4: four warps an SM, each a chain of 22 loads. With 4 KiB 16
// blocks fit and the scattered loads become the limit: 3x or more.
extern "C" __global__ void __launch_bounds__(128) bisect_room_for_most(const float *sums, float *out) {
    bisect(sums, out);
}

extern "C" __global__ void __launch_bounds__(128) bisect_room_for_most_fix(const float *sums, float *out) {
    bisect(sums, out);
}

constexpr int MOST = 180 << 10;
CASE(bisect_room_for_most, OUT, (long)SAMPLERS * 128 * SAMPLES, 1, nullptr, set_sums();
     allow_shared(bisect_room_for_most, MOST);
     bisect_room_for_most<<<SAMPLERS, 128, MOST>>>(running_sums, OUT))  // FAULT
CASE(bisect_room_for_most_fix, OUT, (long)SAMPLERS * 128 * SAMPLES, 1, "bisect_room_for_most", set_sums();
     bisect_room_for_most_fix<<<SAMPLERS, 128, SAMPLES * 128 * 4>>>(running_sums, OUT))
