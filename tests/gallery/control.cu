// Lanes, barriers, atomics, spills, and waits that no rule explains.
#include "gallery.cuh"

// ---- idle lanes

__device__ __forceinline__ float kind_of_work(int kind, float x) {
    if (kind == 0) {  // FAULT
        for (int r = 0; r < 96; ++r) x = fmaf(x, 0.75f, 0.25f);  // FAULT
    } else if (kind == 1) {  // FAULT
        unsigned v = __float_as_uint(x);
        for (int r = 0; r < 32; ++r) v ^= v << 13, v ^= v >> 17, v ^= v << 5;  // FAULT
        x = float(v & 1023);
    } else if (kind == 2) {  // FAULT
        for (int r = 0; r < 48; ++r) x = fmaxf(x * 0.5f, 3.0f - x);  // FAULT
    } else {
        for (int r = 0; r < 64; ++r) x = fabsf(x - 1.5f) + 0.125f;  // FAULT
    }
    return x;
}

constexpr int SORTS = SMS * 8 * 256, SORT_ROUNDS = 16;

extern "C" __global__ void __launch_bounds__(256) divergence_kind_by_lane(const float *in, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
#pragma unroll 1
    for (int r = 0; r < SORT_ROUNDS; ++r)
        out[i + r * SORTS] = kind_of_work(i % 4, in[i + r * SORTS]);  // FAULT
}

// A warp takes one kind of element: every fourth of a stretch of 128.
extern "C" __global__ void __launch_bounds__(256) divergence_kind_by_lane_fix(const float *in, float *out) {
    int warp = (blockIdx.x * 256 + threadIdx.x) / 32, kind = warp % 4;
    int i = warp / 4 * 128 + threadIdx.x % 32 * 4 + kind;
#pragma unroll 1
    for (int r = 0; r < SORT_ROUNDS; ++r) out[i + r * SORTS] = kind_of_work(kind, in[i + r * SORTS]);
}

CASE(divergence_kind_by_lane, OUT, SORTS *SORT_ROUNDS, 1, nullptr, divergence_kind_by_lane<<<SORTS / 256, 256>>>(A, OUT))
CASE(divergence_kind_by_lane_fix, OUT, SORTS *SORT_ROUNDS, 1, "divergence_kind_by_lane",
     divergence_kind_by_lane_fix<<<SORTS / 256, 256>>>(A, OUT))

// The first lane adds up what the warp has loaded.
constexpr int SEGMENTS = 64;

extern "C" __global__ void __launch_bounds__(256) divergence_first_lane(const float *in, float *out) {
    __shared__ float staged[8][32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    long first = (blockIdx.x * 8L + warp) * SEGMENTS;
#pragma unroll 1
    for (int s = 0; s < SEGMENTS; ++s) {
        staged[warp][lane] = in[(first + s) * 32 + lane];
        __syncwarp();
        if (lane == 0) {  // FAULT
            float sum = 0;
#pragma unroll 8
            for (int k = 0; k < 32; ++k) sum = fmaf(sum, 0.5f, staged[warp][k]);  // FAULT
            out[first + s] = sum;
        }
        __syncwarp();
    }
}

// Each lane weighs its own value; the sum goes through shuffles.
extern "C" __global__ void __launch_bounds__(256) divergence_first_lane_fix(const float *in, float *out) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    long first = (blockIdx.x * 8L + warp) * SEGMENTS;
    float weight = exp2f(lane - 31.0f);
#pragma unroll 4
    for (int s = 0; s < SEGMENTS; ++s) {
        float sum = warp_sum(in[(first + s) * 32 + lane] * weight);
        if (lane == 0) out[first + s] = sum;
    }
}

constexpr long SERIAL = SMS * 8 * 8L * SEGMENTS;
CASE(divergence_first_lane, OUT, SERIAL, 1, nullptr, divergence_first_lane<<<SMS * 8, 256>>>(A, OUT))
CASE(divergence_first_lane_fix, OUT, SERIAL, 1, "divergence_first_lane",
     divergence_first_lane_fix<<<SMS * 8, 256>>>(A, OUT))

// One lane of a warp goes its own way for eight rounds, while DRAM is what all wait for.
extern "C" __global__ void __launch_bounds__(256) divergence_beside_dram(const float4 *__restrict__ in, float4 *out,
                                                                        int rounds) {
    long i = blockIdx.x * 512L + threadIdx.x;
    float4 a = in[i], b = in[i + 256];
    if (threadIdx.x % 32 == 5) {
#pragma unroll 1
        for (int r = 0; r < rounds; ++r) a.x = fmaf(a.x, 0.5f, 1.0f);
    }
    out[i] = a, out[i + 256] = b;
}

CASE(divergence_beside_dram, OUT, BIG, 1, nullptr,
     divergence_beside_dram<<<BIG / 2048, 256>>>((float4 *)A, (float4 *)OUT, 8))

// ---- barriers

constexpr int STAGES = 16;

// One warp prepares 1,024 coefficients while 31 wait.
extern "C" __global__ void __launch_bounds__(1024) barrier_one_warp_prepares(const float *in, float *out) {
    __shared__ float ready[1024];
    int i = blockIdx.x * 1024 + threadIdx.x;
    float sum = in[i];
#pragma unroll 1
    for (int s = 0; s < STAGES; ++s) {
        if (threadIdx.x < 32) {
#pragma unroll 2
            for (int k = 0; k < 32; ++k) ready[k * 32 + threadIdx.x] = __expf(-0.001f * (k * 32 + threadIdx.x + s));
        }
        __syncthreads();  // FAULT
        sum = fmaf(sum, 0.5f, ready[threadIdx.x ^ s]);
        __syncthreads();
    }
    out[i] = sum;
}

extern "C" __global__ void __launch_bounds__(1024) barrier_one_warp_prepares_fix(const float *in, float *out) {
    __shared__ float ready[1024];
    int i = blockIdx.x * 1024 + threadIdx.x;
    float sum = in[i];
#pragma unroll 1
    for (int s = 0; s < STAGES; ++s) {
        ready[threadIdx.x] = __expf(-0.001f * (threadIdx.x + s));
        __syncthreads();
        sum = fmaf(sum, 0.5f, ready[threadIdx.x ^ s]);
        __syncthreads();
    }
    out[i] = sum;
}

constexpr int PREPARED = SMS * 2 * 8;
CASE(barrier_one_warp_prepares, OUT, PREPARED * 1024, 1, nullptr, barrier_one_warp_prepares<<<PREPARED, 1024>>>(A, OUT))
CASE(barrier_one_warp_prepares_fix, OUT, PREPARED * 1024, 1, "barrier_one_warp_prepares",
     barrier_one_warp_prepares_fix<<<PREPARED, 1024>>>(A, OUT))

// Running sums of running sums of 1,024 values, two barriers for each of ten steps.
constexpr int SCANS = SMS * 2 * 8;

extern "C" __global__ void __launch_bounds__(1024) barrier_every_step(const float *in, float *out) {
    __shared__ float line[1024];
    int t = threadIdx.x;
    long i = blockIdx.x * 1024L + t;
    line[t] = in[i];
    __syncthreads();
#pragma unroll 1
    for (int step = 0; step < 40; ++step) {
        int d = 1 << step % 10;
        float other = t >= d ? line[t - d] : 0.0f;
        __syncthreads();  // FAULT
        line[t] += other;
        __syncthreads();  // FAULT
    }
    out[i] = line[t];
}

__device__ __forceinline__ float running_sum(float v, int lane) {
    for (int d = 1; d < 32; d *= 2) {
        float other = __shfl_up_sync(~0u, v, d);
        if (lane >= d) v += other;
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(1024) barrier_every_step_fix(const float *in, float *out) {
    __shared__ float before[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    long i = blockIdx.x * 1024L + threadIdx.x;
    float sum = in[i];
#pragma unroll 1
    for (int round = 0; round < 4; ++round) {
        sum = running_sum(sum, lane);
        __syncthreads();
        if (lane == 31) before[warp] = sum;
        __syncthreads();
        float total = running_sum(before[lane], lane);
        total = __shfl_sync(~0u, total, warp > 0 ? warp - 1 : 0);
        sum += warp > 0 ? total : 0.0f;
    }
    out[i] = sum;
}

CASE(barrier_every_step, OUT, SCANS * 1024L * 4, 1, nullptr, barrier_every_step<<<SCANS * 4, 1024>>>(A, OUT))
CASE(barrier_every_step_fix, OUT, SCANS * 1024L * 4, 1, "barrier_every_step",
     barrier_every_step_fix<<<SCANS * 4, 1024>>>(A, OUT))

// Turns around stretches of 4 KiB through shared memory: a barrier in each of many blocks, DRAM at its ceiling.
extern "C" __global__ void __launch_bounds__(256) barrier_beside_dram(const float4 *__restrict__ in, float4 *out) {
    __shared__ float4 staged[512];
    long i = blockIdx.x * 512L + threadIdx.x;
    staged[threadIdx.x] = in[i], staged[threadIdx.x + 256] = in[i + 256];
    __syncthreads();
    out[i] = staged[511 - threadIdx.x], out[i + 256] = staged[255 - threadIdx.x];
}

CASE(barrier_beside_dram, OUT, BIG, 1, nullptr,
     barrier_beside_dram<<<BIG / 2048, 256>>>((float4 *)A, (float4 *)OUT))

// ---- spills

template <int EACH>
__device__ __forceinline__ float many_sums(const float *in, int rounds) {
    float a[EACH];
#pragma unroll
    for (int k = 0; k < EACH; ++k) a[k] = in[k];
#pragma unroll 1
    for (int r = 0; r < rounds; ++r) {
        float x = in[r] * 0.0625f;
#pragma unroll
        for (int k = 0; k < EACH; ++k) a[k] = fmaf(a[k], x, a[(k + 7) % EACH]);  // FAULT
    }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < EACH; ++k) sum += a[k];
    return sum;
}

constexpr int SUMMED = SMS * 2 * 1024;

extern "C" __global__ void __launch_bounds__(1024, 2) spill_asked_occupancy(const float *in, float *out) {
    int i = blockIdx.x * 1024 + threadIdx.x;
    out[i] = many_sums<64>(in + i % 1000, 16);
}

extern "C" __global__ void __launch_bounds__(256) spill_asked_occupancy_fix(const float *in, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    out[i] = many_sums<64>(in + i % 1000, 16);
}

// ---- atomics

// Counts into eight bins far apart in memory: every element one float atomic.
constexpr int COUNTED = SMS * 8 * 256 * 4;

extern "C" __global__ void __launch_bounds__(256) atomic_global_bins(const float *in, float *bins) {
    int i = blockIdx.x * 256 + threadIdx.x;
    atomicAdd(bins + int(in[i]) * 64, 1.5f);  // FAULT
}

extern "C" __global__ void __launch_bounds__(256) atomic_global_bins_fix(const float *in, float *bins) {
    __shared__ int counts[8][8];
    if (threadIdx.x < 64) counts[threadIdx.x / 8][threadIdx.x % 8] = 0;
    __syncthreads();
    int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32;
    int bin = int(in[i]);
    for (int k = 0; k < 8; ++k) {
        unsigned same = __ballot_sync(~0u, bin == k);
        if (lane == k) counts[threadIdx.x / 32][k] = __popc(same);
    }
    __syncthreads();
    if (threadIdx.x < 8) {
        int sum = 0;
        for (int w = 0; w < 8; ++w) sum += counts[w][threadIdx.x];
        atomicAdd(bins + threadIdx.x * 64, 1.5f * sum);
    }
}

CASE(atomic_global_bins, SMALL, 8, 64, nullptr, atomic_global_bins<<<COUNTED / 256, 256>>>(A, SMALL))
CASE(atomic_global_bins_fix, SMALL, 8, 64, "atomic_global_bins",
     atomic_global_bins_fix<<<COUNTED / 256, 256>>>(A, SMALL))

// Each element draws a place in one of four lists: the counters hand out one number at a time.
extern "C" __global__ void __launch_bounds__(256) atomic_global_tickets(const float *in, int *counters, float *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = in[i];
    int list = int(v) & 3;
    int place = atomicAdd(counters + list * 64, 1 + (int(v) >> 2));  // FAULT
    out[list * (COUNTED * 2L) + place] = 1.0f + v;
}

CASE(atomic_global_tickets, SMALL, 4, 64, nullptr, atomic_global_tickets<<<COUNTED / 256, 256>>>(A, (int *)SMALL, OUT))

// All lanes of a block add to four counters in shared memory.
extern "C" __global__ void __launch_bounds__(256) atomic_shared_bins(const float *in, float *out) {
    __shared__ int bins[4];
    if (threadIdx.x < 4) bins[threadIdx.x] = 0;
    __syncthreads();
    const float *own = in + blockIdx.x * 256L * 64 + threadIdx.x;
#pragma unroll 4
    for (int r = 0; r < 64; ++r) {
        int v = int(own[r * 256]);
        atomicAdd(bins + (v & 3), v + 1);  // FAULT
    }
    __syncthreads();
    if (threadIdx.x < 4) out[blockIdx.x * 4 + threadIdx.x] = bins[threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(256) atomic_shared_bins_fix(const float *in, float *out) {
    __shared__ int bins[4];
    if (threadIdx.x < 4) bins[threadIdx.x] = 0;
    __syncthreads();
    const float *own = in + blockIdx.x * 256L * 64 + threadIdx.x;
    int sums[4] = {};
#pragma unroll 8
    for (int r = 0; r < 64; ++r) {
        int v = int(own[r * 256]);
        for (int k = 0; k < 4; ++k) sums[k] += (v & 3) == k ? v + 1 : 0;
    }
    for (int k = 0; k < 4; ++k) {
        int sum = __reduce_add_sync(~0u, sums[k]);
        if (threadIdx.x % 32 == 0) atomicAdd(bins + k, sum);
    }
    __syncthreads();
    if (threadIdx.x < 4) out[blockIdx.x * 4 + threadIdx.x] = bins[threadIdx.x];
}

constexpr int BIN_BLOCKS = SMS * 8;
CASE(atomic_shared_bins, OUT, BIN_BLOCKS * 4, 1, nullptr, atomic_shared_bins<<<BIN_BLOCKS, 256>>>(A, OUT))
CASE(atomic_shared_bins_fix, OUT, BIN_BLOCKS * 4, 1, "atomic_shared_bins",
     atomic_shared_bins_fix<<<BIN_BLOCKS, 256>>>(A, OUT))

// Float sums in shared memory go by compare-and-swap: whoever loses tries again.
extern "C" __global__ void __launch_bounds__(256) atomic_shared_floats(const float *in, float *out) {
    __shared__ float bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    const float *own = in + blockIdx.x * 256L * 32 + threadIdx.x;
#pragma unroll 1
    for (int r = 0; r < 32; ++r) {
        float v = own[r * 256];
        atomicAdd(bins + int(v), v + 1.0f);  // FAULT
    }
    __syncthreads();
    if (threadIdx.x < 16) out[blockIdx.x * 16 + threadIdx.x] = bins[threadIdx.x];
}

CASE(atomic_shared_floats, OUT, BIN_BLOCKS * 16, 1, nullptr, atomic_shared_floats<<<BIN_BLOCKS, 256>>>(A, OUT))

// One atomic a block of 8,192 values: nobody waits for it.
extern "C" __global__ void __launch_bounds__(256) atomic_once_a_block(const float4 *__restrict__ in, float *out) {
    const float4 *own = in + blockIdx.x * 2048L + threadIdx.x;
    float sum = 0;
    float4 v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = own[k * 256];
#pragma unroll
    for (int k = 0; k < 8; ++k) sum += sum4(v[k]);
    add_block_sum(sum, out + blockIdx.x % 32 * 64);
}

CASE(atomic_once_a_block, SMALL, 32, 64, nullptr, atomic_once_a_block<<<BIG / 8192, 256>>>((float4 *)A, SMALL))

// ---- no rule

// Polls with a nap, as a kernel that waits for a flag does.
extern "C" __global__ void __launch_bounds__(256) unexplained_polling(const float *in, float *out) {
    long i = blockIdx.x * 256L + threadIdx.x;
    float v = in[i];
#pragma unroll 1
    for (int r = 0; r < 40; ++r) {
        __nanosleep(2000);
        v = fmaf(v, 0.5f, 1.0f);
    }
    out[i] = v;
}

CASE(unexplained_polling, OUT, SMS * 8 * 256, 1, nullptr, unexplained_polling<<<SMS * 8, 256>>>(A, OUT))

// Publishes every value to the whole GPU before it writes the next.
extern "C" __global__ void __launch_bounds__(256) unexplained_fences(const float *in, float *out) {
    long i = blockIdx.x * 256L + threadIdx.x;
    float v = in[i];
#pragma unroll 1
    for (int r = 0; r < 32; ++r) {
        out[i + r % 4 * (SMS * 8 * 256L)] = v + r;
        __threadfence();
    }
}

CASE(unexplained_fences, OUT, SMS * 8 * 256 * 4, 1, nullptr, unexplained_fences<<<SMS * 8, 256>>>(A, OUT))

CASE(spill_asked_occupancy, OUT, SUMMED, 1, nullptr, spill_asked_occupancy<<<SUMMED / 1024, 1024>>>(A, OUT))
CASE(spill_asked_occupancy_fix, OUT, SUMMED, 1, "spill_asked_occupancy",
     spill_asked_occupancy_fix<<<SUMMED / 256, 256>>>(A, OUT))

// Forty values wait in local memory while the loop runs, and come back once.
extern "C" __global__ void __launch_bounds__(256, 6) spill_outside_the_loop(const float *in, float *out) {
    float kept[40], a[8];
    int i = blockIdx.x * 256 + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 40; ++k)
        asm volatile("ld.global.f32 %0, [%1];" : "=f"(kept[k]) : "l"(in + i + k * 64));
#pragma unroll
    for (int k = 0; k < 8; ++k) a[k] = in[i + k];
#pragma unroll 2
    for (int r = 0; r < 768; ++r)
#pragma unroll
        for (int k = 0; k < 8; ++k) a[k] = fmaf(a[k], 0.5f, 1.0f + k);
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 40; ++k) sum = fmaf(sum, 0.5f, kept[k] * a[k % 8]);
    out[i] = sum;
}

CASE(spill_outside_the_loop, OUT, SMS * 6 * 3 * 256, 1, nullptr, spill_outside_the_loop<<<SMS * 6 * 3, 256>>>(A, OUT))

// ---- two faults at once: the one that costs more comes first

// Eight times the sectors, and beside them conflicts of two lanes a bank that DRAM hides.
extern "C" __global__ void __launch_bounds__(256) compound_strided_and_conflicts(const float *__restrict__ particles,
                                                                               float *out) {
    __shared__ float staged[512];
    long i = blockIdx.x * 256L + threadIdx.x;
    staged[threadIdx.x * 2] = particles[i * 8 + 5];  // FAULT
    __syncthreads();
    out[i] = staged[(threadIdx.x ^ 64) * 2] * 2.0f;
}

CASE(compound_strided_and_conflicts, OUT, 8 << 20, 1, nullptr,
     compound_strided_and_conflicts<<<(8 << 20) / 256, 256>>>(A, OUT))

// Sixteen lanes a bank in every step, and a branch in one step of sixteen that every other lane takes.
extern "C" __global__ void __launch_bounds__(256) compound_conflicts_and_divergence(const float *in, float *out) {
    __shared__ float tables[256 * 16];
    long i = blockIdx.x * 256L + threadIdx.x;
    float *own = tables + threadIdx.x * 16, sum = 0;
    for (int k = 0; k < 16; ++k) own[k] = in[k * (SMS * 8 * 256L) + i];
    int at = 0;
#pragma unroll 1
    for (int r = 0; r < 16; ++r) {
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            sum += own[at];  // FAULT
            at = (at + 5) & 15;
        }
        at = (at + 3) & 15;
        if (threadIdx.x & 1) {
#pragma unroll 1
            for (int q = 0; q < 4; ++q) sum = fmaf(sum, 0.5f, 1.0f);
        }
    }
    out[i] = sum;
}

CASE(compound_conflicts_and_divergence, OUT, SMS * 8 * 256, 1, nullptr,
     compound_conflicts_and_divergence<<<SMS * 8, 256>>>(A, OUT))
