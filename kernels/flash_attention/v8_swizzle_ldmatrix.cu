// Changes: operands by ldmatrix, four matrices of 8 x 8 at once, transposed for v, from rows whose 16 bytes are
// swizzled.
//
// expected: `tensor-underfed`: no conflict is left, and a sixth of the loads. 200 to 270 TFLOP/s at d128, 4 to 6 times
//   v7. Each warp loads all of a tile for 16 queries, 16 passes for eight mma.sync, and copies are 4 more: shared
//   memory still allows no more than 380.
// measured: on an H100, 2026-11-26: 1.980 ms at d128, 278 TFLOP/s, 4.70 times v7, 0.793 of v1. `tensor-underfed`,
//   2.14x. Fastest of all at masked and small.
#include "swizzled_tile.cuh"
#include "two_stages.cuh"

extern "C" cudaError_t flash_attention(const bf16* q, const bf16* k, const bf16* v, bf16* out, long long batch,
                                       long long heads, long long queries, long long keys, long long dim,
                                       long long causal, cudaStream_t stream) {
    return checked_launch(q, k, v, out, batch, heads, queries, keys, dim, causal, stream,
                          launch<Swizzled<64>>, launch<Swizzled<128>>);
}
