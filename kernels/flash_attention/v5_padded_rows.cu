// Changes: rows of q and of the result are padded by 16 bytes, so that eight lanes have the 32 banks between them.
//
// expected: no more conflicts, 1.3 to 2 times v4. Then `low-occupancy`: 98 KB of shared memory let two blocks of two
//   warps on an SM, a warp a scheduler. What it ought to say is no tensor core: most of the work are products of
//   bfloat16 in the FMA pipe. But bfloat16 becomes a float by a shift, which no counter tells from other integers.
// measured: on an H100, 2026-11-26: 56.7 ms at d128, 9.7 TFLOP/s, 1.122 times v4, no conflict left. `no-tensor-core`,
//   31.5x, then `low-occupancy`, 2.60x; at d64, with twice the warps, 16.1 TFLOP/s.
#include "row_a_thread.cuh"

extern "C" cudaError_t flash_attention(const bf16* q, const bf16* k, const bf16* v, bf16* out, long long batch,
                                       long long heads, long long queries, long long keys, long long dim,
                                       long long causal, cudaStream_t stream) {
    return checked_launch(q, k, v, out, batch, heads, queries, keys, dim, causal, stream,
                          launch<64, 4>, launch<128, 4>);
}
