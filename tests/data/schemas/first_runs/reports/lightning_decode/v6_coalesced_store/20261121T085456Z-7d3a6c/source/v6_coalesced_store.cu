// Changes: the new state leaves shared memory by flat index at the end: consecutive lanes, consecutive addresses,
// 4 sectors a request instead of 32.
//
// expected: `uncoalesced-global-load`. The loads are still 32 sectors a request; L1 must hold a warp's 32
//   lines until all their sectors are used. Behind that: occupancy limited by shared memory (6 blocks of
//   four warps at d = 96, 3 at 128), one lane that computes the decay and writes the output while the block waits,
//   and at d = 96 a warp that has no row.
// measured: 222 us at b64_d96, 2.8 times v5. Excessive L2 sectors halved; the other half is the loads.
#include <climits>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

using bf16 = __nv_bfloat16;

constexpr int THREADS = 128;

template <int D>
__global__ void decode_coalesced_store(const bf16* __restrict__ q, const bf16* __restrict__ k, const bf16* __restrict__ v,
                                       const float* __restrict__ slope, const float* __restrict__ state, bf16* __restrict__ out,
                                       float* __restrict__ new_state, long long heads) {
    extern __shared__ float shared[];  // the decay, then the new state: D rows of D + 1
    __shared__ float q_s[D], k_s[D], v_s[D];
    __shared__ bf16 out_s[D];
    float& decay = shared[0];
    float* tile = shared + 1;
    const long long head = blockIdx.x;
    const float* s = state + head * D * D;
    float* new_s = new_state + head * D * D;

    const int tid = threadIdx.x;
    if (tid == 0) decay = expf(-slope[head % heads]);
    if (tid < D) {
        q_s[tid] = __bfloat162float(q[head * D + tid]);
        k_s[tid] = __bfloat162float(k[head * D + tid]);
        v_s[tid] = __bfloat162float(v[head * D + tid]);
    }
    __syncthreads();

    if (tid < D) {  // a thread a row
        const float k_row = k_s[tid];
        for (int col = 0; col < D; ++col) {
            const float value = decay * s[tid * D + col] + k_row * v_s[col];
            tile[tid * (D + 1) + col] = value;
        }
    }
    __syncthreads();

    if (tid < D) {  // a thread a column
        float sum = 0.0f;
        for (int row = 0; row < D; ++row) sum += q_s[row] * tile[row * (D + 1) + tid];
        out_s[tid] = __float2bfloat16(sum);
    }
    __syncthreads();
    if (tid == 0) {
        for (int col = 0; col < D; ++col) out[head * D + col] = out_s[col];
    }
    for (int i = tid; i < D * D; i += THREADS) new_s[i] = tile[i / D * (D + 1) + i % D];
}

template <int D>
static cudaError_t launch(const bf16* q, const bf16* k, const bf16* v, const float* slope, const float* state, bf16* out,
                          float* new_state, long long blocks, long long heads, cudaStream_t stream) {
    const int bytes = (1 + D * (D + 1)) * sizeof(float);
    const cudaError_t error =
        cudaFuncSetAttribute(decode_coalesced_store<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess) return error;
    decode_coalesced_store<D><<<blocks, THREADS, bytes, stream>>>(q, k, v, slope, state, out, new_state, heads);
    return cudaGetLastError();
}

extern "C" cudaError_t lightning_decode(const bf16* q, const bf16* k, const bf16* v, const float* slope,
                                        const float* state, bf16* out, float* new_state, long long batch,
                                        long long heads, long long dim, cudaStream_t stream) {
    const long long blocks = batch * heads;
    if (blocks < 1 || blocks > INT_MAX) return cudaErrorInvalidValue;
    if (dim == 96) return launch<96>(q, k, v, slope, state, out, new_state, blocks, heads, stream);
    if (dim == 128) return launch<128>(q, k, v, slope, state, out, new_state, blocks, heads, stream);
    return cudaErrorInvalidValue;
}
