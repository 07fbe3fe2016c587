// Changes: a tile arrives by asynchronous copies while the one before is used, in two stages of shared memory, with
// one barrier a tile instead of two.
//
// expected: `shared-bank-conflict`, as v6, and little won: shared memory is busy all the time, and while some warps
//   waited for a tile those of two other blocks worked. 1.0 to 1.1 times v6.
// measured: on an H100, 2026-11-26: 9.31 ms at d128, 59.1 TFLOP/s, 1.061 times v6; shared memory 96 % busy, as before.
//   `shared-bank-conflict`, 4.57x; v8 won 4.70.
#include "plain_tile.cuh"
#include "two_stages.cuh"

extern "C" cudaError_t flash_attention(const bf16* q, const bf16* k, const bf16* v, bf16* out, long long batch,
                                       long long heads, long long queries, long long keys, long long dim,
                                       long long causal, cudaStream_t stream) {
    return checked_launch(q, k, v, out, batch, heads, queries, keys, dim, causal, stream,
                          launch<Plain<64>>, launch<Plain<128>>);
}
