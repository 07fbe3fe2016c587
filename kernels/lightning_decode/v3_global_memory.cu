// Changes: plain CUDA C++, straight from the formula. A block a head; a thread takes a row of S and walks
// along its columns, then a thread takes a column of S' and sums q S' down the rows.
// parent: v0
//
// expected: `uncoalesced-global-store`. Lanes are a row (384 or 512 bytes) apart, so a warp's request touches
//   32 sectors and uses 4 bytes of each, in the load and in the store. S' is read back from global memory
//   for the output. An order of magnitude behind v2.
// measured: 647 us at b64_d96, 7.7 times v2. 32 sectors a store request, 13 % of each used.
#include <climits>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

using bf16 = __nv_bfloat16;

constexpr int THREADS = 128;

template <int D>
__global__ void decode_global(const bf16* __restrict__ q, const bf16* __restrict__ k, const bf16* __restrict__ v,
                              const float* __restrict__ slope, const float* __restrict__ state, bf16* __restrict__ out,
                              float* __restrict__ new_state, long long heads) {
    const long long head = blockIdx.x;
    const float decay = expf(-slope[head % heads]);
    const float* s = state + head * D * D;
    float* new_s = new_state + head * D * D;
    q += head * D;
    k += head * D;
    v += head * D;

    const int row = threadIdx.x;
    if (row < D) {
        const float k_row = __bfloat162float(k[row]);
        for (int col = 0; col < D; ++col) {
            new_s[row * D + col] = decay * s[row * D + col] + k_row * __bfloat162float(v[col]);
        }
    }
    __syncthreads();

    const int col = threadIdx.x;
    if (col < D) {
        float sum = 0.0f;
        for (int i = 0; i < D; ++i) sum += __bfloat162float(q[i]) * new_s[i * D + col];
        out[head * D + col] = __float2bfloat16(sum);
    }
}

template <int D>
static cudaError_t launch(const bf16* q, const bf16* k, const bf16* v, const float* slope, const float* state, bf16* out,
                          float* new_state, long long blocks, long long heads, cudaStream_t stream) {
    decode_global<D><<<blocks, THREADS, 0, stream>>>(q, k, v, slope, state, out, new_state, heads);
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
