// Changes: one CUDA kernel that keeps no scores: tiles of 32 keys go by in shared memory, and what was summed is
// scaled down where the maximum rises. A thread a query, whose row of q and of the result lie in shared memory, too.
// parent: v0
//
// expected: `shared-bank-conflict`: rows lie 512 bytes apart, so that the lanes of a warp, a row each, all want the
//   same four banks: 32 passes for an access of 16 bytes a lane where 4 would do. Of 160 passes for 256 multiply-adds
//   a warp 84 are there for that. No more than 24 TFLOP/s at d128, 10 to 18, with four warps an SM; 30 to 55 ms,
//   several times slower than v0, which moves a hundred times the bytes and has tensor cores.
// measured: on an H100, 2026-11-26: 63.6 ms at d128, 8.6 TFLOP/s. `no-tensor-core`, 35.2x; `low-occupancy`, 1.91x;
//   `shared-bank-conflict` third, 1.16x, for loads that are the same for all lanes take two passes each.
#include "row_a_thread.cuh"

extern "C" cudaError_t flash_attention(const bf16* q, const bf16* k, const bf16* v, bf16* out, long long batch,
                                       long long heads, long long queries, long long keys, long long dim,
                                       long long causal, cudaStream_t stream) {
    return checked_launch(q, k, v, out, batch, heads, queries, keys, dim, causal, stream,
                          launch<64, 0>, launch<128, 0>);
}
