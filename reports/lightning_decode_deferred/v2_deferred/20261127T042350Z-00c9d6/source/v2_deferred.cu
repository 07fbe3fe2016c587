// Changes: the state is written every sixteenth step. In between a launch reads the state as it was then, and the k and
// v of the steps since, 16 % of it after fifteen steps at dim = 96:
//
//   out_t = decay^(t + 1) q_t S + sum over i <= t of decay^(t - i) (q_t . k_i) v_i
//
// expected: `at-dram-roofline`. Bytes of 16 steps at B = 64: 16 reads and 1 write of 151 MB for 16 of each, and what k
//   and v add: 1.72 times v1 at most; 1.5 to 1.65.
// measured: 1.52 times v1 at b64_d96, 1.51 over 64 steps; 1.57 at B = 256, 1.50 at b64_d128; 0.93 at B = 1, where a
//   launch has more to do and nothing to save.
#include <climits>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

using bf16 = __nv_bfloat16;

constexpr int PERIOD = 16, WARP = 32;
constexpr unsigned ALL_LANES = 0xffffffff;

// Of the steps since the state was written: those before this one, and this one.
struct Steps {
    const bf16 *q, *k, *v;  // q of this step; k and v of the first one
    bf16* out;
    long long apart;  // elements from a step to the next
    int before;
};

template <int D, int ROW_GROUPS, bool WRITES>
__global__ void __launch_bounds__(D / 4 * ROW_GROUPS)
    decode_deferred(const Steps steps, const float* __restrict__ slope, const float4* state, float4* new_state,
                    long long heads) {
    constexpr int COLS = D / 4, ROWS = D / ROW_GROUPS, THREADS = COLS * ROW_GROUPS, WARPS = THREADS / WARP;
    __shared__ float q[D], weights[PERIOD];
    __shared__ float4 partial[ROW_GROUPS][COLS];
    __shared__ __align__(16) float k_rows[WRITES ? PERIOD : 1][D], v_rows[WRITES ? PERIOD : 1][D];
    const long long head = blockIdx.x;
    const int tid = threadIdx.x, col = tid % COLS, group = tid / COLS, lane = tid % WARP;
    const long long first = head * D * COLS + tid;

    float4 s[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; ++i) s[i] = state[first + i * THREADS];

    if (tid < D) q[tid] = __bfloat162float(steps.q[head * D + tid]);
    const float rate = slope[head % heads];
    bf16 values[PERIOD];
    if (tid < D) {
#pragma unroll
        for (int i = 0; i < PERIOD; ++i) {
            if (i <= steps.before) values[i] = steps.v[i * steps.apart + head * D + tid];
        }
    }
    if (WRITES) {
        for (int i = tid; i < PERIOD * D; i += THREADS) {
            const long long at = i / D * steps.apart + head * D + i % D;
            const float decay = expf(-rate * (PERIOD - 1 - i / D));
            k_rows[i / D][i % D] = decay * __bfloat162float(steps.k[at]);
            v_rows[i / D][i % D] = __bfloat162float(steps.v[at]);
        }
    }
    __syncthreads();

    for (int i = tid / WARP; i <= steps.before; i += WARPS) {
        const bf16* k = steps.k + i * steps.apart + head * D;
        float sum = 0.0f;
#pragma unroll
        for (int at = 0; at < D; at += WARP) sum += q[at + lane] * __bfloat162float(k[at + lane]);
#pragma unroll
        for (int apart = WARP / 2; apart > 0; apart /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, apart);
        if (lane == 0) weights[i] = sum * expf(-rate * (steps.before - i));
    }
    float4 sum = {};
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        const float w = q[i * ROW_GROUPS + group];
        sum.x += w * s[i].x;
        sum.y += w * s[i].y;
        sum.z += w * s[i].z;
        sum.w += w * s[i].w;
    }
    partial[group][col] = sum;
    if (WRITES) {
        const float decay = expf(-rate * PERIOD);
#pragma unroll
        for (int i = 0; i < ROWS; ++i) s[i] = {decay * s[i].x, decay * s[i].y, decay * s[i].z, decay * s[i].w};
#pragma unroll
        for (int step = 0; step < PERIOD; ++step) {
            const float4 v = reinterpret_cast<const float4*>(v_rows[step])[col];
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
                const float k = k_rows[step][i * ROW_GROUPS + group];
                s[i] = {s[i].x + k * v.x, s[i].y + k * v.y, s[i].z + k * v.z, s[i].w + k * v.w};
            }
        }
#pragma unroll
        for (int i = 0; i < ROWS; ++i) new_state[first + i * THREADS] = s[i];
    }
    __syncthreads();
    if (tid < D) {
        float total = 0.0f;
#pragma unroll
        for (int g = 0; g < ROW_GROUPS; ++g) total += reinterpret_cast<const float*>(partial[g])[tid];
        total *= expf(-rate * (steps.before + 1));
#pragma unroll
        for (int i = 0; i < PERIOD; ++i) {
            if (i <= steps.before) total += weights[i] * __bfloat162float(values[i]);
        }
        steps.out[head * D + tid] = __float2bfloat16(total);
    }
}

template <int D, int ROW_GROUPS>
static cudaError_t launch(const bf16* q, const bf16* k, const bf16* v, const float* slope, const float* state,
                          bf16* out, float* new_state, long long count, long long blocks, long long heads,
                          cudaStream_t stream) {
    const long long apart = blocks * D;
    for (long long step = 0; step < count; ++step) {
        const int before = static_cast<int>(step % PERIOD);
        const long long start = (step - before) * apart;
        const Steps steps = {q + step * apart, k + start, v + start, out + step * apart, apart, before};
        const float4* from = reinterpret_cast<const float4*>(step < PERIOD ? state : new_state);
        const auto kernel = before == PERIOD - 1 ? decode_deferred<D, ROW_GROUPS, true>
                                                 : decode_deferred<D, ROW_GROUPS, false>;
        float4* to = reinterpret_cast<float4*>(new_state);
        kernel<<<blocks, D / 4 * ROW_GROUPS, 0, stream>>>(steps, slope, from, to, heads);
    }
    return cudaGetLastError();
}

extern "C" cudaError_t lightning_decode_deferred(const bf16* q, const bf16* k, const bf16* v, const float* slope,
                                                 const float* state, bf16* out, float* new_state, long long steps,
                                                 long long batch, long long heads, long long dim, cudaStream_t stream) {
    const long long blocks = batch * heads;
    if (blocks < 1 || blocks > INT_MAX || steps < 1 || steps % PERIOD) return cudaErrorInvalidValue;
    if ((reinterpret_cast<size_t>(state) | reinterpret_cast<size_t>(new_state)) % 16) return cudaErrorMisalignedAddress;
    const auto chosen = dim == 96 ? launch<96, 16> : dim == 128 ? launch<128, 16> : nullptr;
    if (chosen == nullptr) return cudaErrorInvalidValue;
    return chosen(q, k, v, slope, state, out, new_state, steps, blocks, heads, stream);
}
