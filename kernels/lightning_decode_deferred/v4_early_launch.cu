// Changes: a launch begins when all blocks of the last one have begun, and reads the state while that one ends; q, k
// and v it reads when that one is over.
//
// expected: `at-dram-roofline`. 1.03 to 1.1 times v3: some 3 us of 60 at the end and the beginning of each
//   launch.
// measured: 1.010 times v3 at b64_d96 on an H200, less than expected; 1.12 at B = 16, 1.37 at B = 1; over 64 steps 1.518
//   times v1, 1.606 on an H100.
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

// Until the launch before this one in the stream is over, and its writes are seen.
__device__ inline void await_last_launch() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
// The next one may begin when all blocks of this one have come here. Each then knows that the launch before is over, so
// that the next one may read a state which that has written.
__device__ inline void let_next_launch_begin() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

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

    if (steps.before == 0) await_last_launch();  // which has written the state
    float4 s[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; ++i) s[i] = state[first + i * THREADS];
    if (steps.before > 0) await_last_launch();
    let_next_launch_begin();

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
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3(static_cast<unsigned>(blocks));
        config.blockDim = dim3(D / 4 * ROW_GROUPS);
        config.stream = stream;
        cudaLaunchAttribute early = {};
        early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        early.val.programmaticStreamSerializationAllowed = step > 0;
        config.attrs = &early;
        config.numAttrs = 1;
        const cudaError_t status =
            cudaLaunchKernelEx(&config, kernel, steps, slope, from, reinterpret_cast<float4*>(new_state), heads);
        if (status != cudaSuccess) return status;
    }
    return cudaSuccess;
}

extern "C" cudaError_t lightning_decode_deferred(const bf16* q, const bf16* k, const bf16* v, const float* slope,
                                                 const float* state, bf16* out, float* new_state, long long steps,
                                                 long long batch, long long heads, long long dim, cudaStream_t stream) {
    const long long blocks = batch * heads;
    if (blocks < 1 || blocks > INT_MAX || steps < 1 || steps % PERIOD) return cudaErrorInvalidValue;
    if ((reinterpret_cast<size_t>(state) | reinterpret_cast<size_t>(new_state)) % 16) return cudaErrorMisalignedAddress;
    const auto chosen = dim == 96 ? launch<96, 12> : dim == 128 ? launch<128, 8> : nullptr;
    if (chosen == nullptr) return cudaErrorInvalidValue;
    return chosen(q, k, v, slope, state, out, new_state, steps, blocks, heads, stream);
}
