// Changes: lightning_decode's v10, launched for each step: S is read and written in every one.
//
// expected: `at-dram-roofline`, 305 MB a step at B = 64.
// measured: 1687 us at b64_d96, 105 a step; each launch `at-dram-roofline`, the call `redundant-traffic`, 1.69x.
#include <climits>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

using bf16 = __nv_bfloat16;

constexpr int MANY_HEADS = 2048;  // from here on every SM has its fill of the larger blocks for several waves

template <int D, int ROW_GROUPS>
__global__ void __launch_bounds__(D / 4 * ROW_GROUPS)
    decode_row_groups(const bf16* __restrict__ q, const bf16* __restrict__ k, const bf16* __restrict__ v,
                     const float* __restrict__ slope, const float4* state, bf16* __restrict__ out,
                     float4* new_state, long long heads) {
    constexpr int COLS = D / 4;  // columns in units of four
    constexpr int ROWS = D / ROW_GROUPS;
    __shared__ float2 qk[D];
    __shared__ float4 partial[ROW_GROUPS][COLS];
    const long long head = blockIdx.x;
    const int tid = threadIdx.x, col = tid % COLS, group = tid / COLS;
    const long long first = head * D * COLS + tid;  // row `group`; the next row of this thread is blockDim.x on

    float4 s[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; ++i) s[i] = state[first + i * (COLS * ROW_GROUPS)];

    if (tid < D) qk[tid] = make_float2(__bfloat162float(q[head * D + tid]), __bfloat162float(k[head * D + tid]));
    const float decay = expf(-slope[head % heads]);
    const __nv_bfloat162* v_pairs = reinterpret_cast<const __nv_bfloat162*>(v + head * D) + col * 2;
    const float2 v_low = __bfloat1622float2(v_pairs[0]), v_high = __bfloat1622float2(v_pairs[1]);
    __syncthreads();

    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        const float2 w = qk[i * ROW_GROUPS + group];
        s[i].x = decay * s[i].x + w.y * v_low.x;
        s[i].y = decay * s[i].y + w.y * v_low.y;
        s[i].z = decay * s[i].z + w.y * v_high.x;
        s[i].w = decay * s[i].w + w.y * v_high.y;
        sum.x += w.x * s[i].x;
        sum.y += w.x * s[i].y;
        sum.z += w.x * s[i].z;
        sum.w += w.x * s[i].w;
        new_state[first + i * (COLS * ROW_GROUPS)] = s[i];
    }

    partial[group][col] = sum;
    __syncthreads();
    if (tid < D) {
        float total = 0.0f;
#pragma unroll
        for (int g = 0; g < ROW_GROUPS; ++g) total += reinterpret_cast<const float*>(partial[g])[tid];
        out[head * D + tid] = __float2bfloat16(total);
    }
}

template <int D, int ROW_GROUPS>
static cudaError_t launch(const bf16* q, const bf16* k, const bf16* v, const float* slope, const float* state,
                          bf16* out, float* new_state, long long steps, long long blocks, long long heads,
                          cudaStream_t stream) {
    const long long apart = blocks * D;
    for (long long at = 0; at < steps * apart; at += apart) {
        const float4* from = reinterpret_cast<const float4*>(at ? new_state : state);
        decode_row_groups<D, ROW_GROUPS><<<blocks, D / 4 * ROW_GROUPS, 0, stream>>>(
            q + at, k + at, v + at, slope, from, out + at, reinterpret_cast<float4*>(new_state), heads);
    }
    return cudaGetLastError();
}

extern "C" cudaError_t lightning_decode_deferred(const bf16* q, const bf16* k, const bf16* v, const float* slope,
                                                 const float* state, bf16* out, float* new_state, long long steps,
                                                 long long batch, long long heads, long long dim, cudaStream_t stream) {
    const long long blocks = batch * heads;
    if (blocks < 1 || blocks > INT_MAX || steps < 1) return cudaErrorInvalidValue;
    const bool many = blocks >= MANY_HEADS;
    const auto chosen = dim == 96    ? (many ? launch<96, 16> : launch<96, 8>)
                        : dim == 128 ? (many ? launch<128, 16> : launch<128, 8>)
                                     : nullptr;
    if (chosen == nullptr) return cudaErrorInvalidValue;
    return chosen(q, k, v, slope, state, out, new_state, steps, blocks, heads, stream);
}
