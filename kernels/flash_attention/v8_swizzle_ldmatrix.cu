// Changes: operands by ldmatrix, four matrices of 8 x 8 at once, transposed for v, from rows whose 16 bytes are swizzled.
//
// expected: `tensor-underfed`: no conflict is left, and an eighth of the loads. 230 to 300 TFLOP/s at d128, 2 to 2.5 times
//   v7. Each warp loads all of a tile for 16 queries: 16 wavefronts an SM for eight mma.sync, which take no more time.
#include "swizzled_tile.cuh"
#include "two_stages.cuh"

extern "C" cudaError_t flash_attention(const bf16* q, const bf16* k, const bf16* v, bf16* out, long long batch,
                                       long long heads, long long queries, long long keys, long long dim,
                                       long long causal, cudaStream_t stream) {
    return checked_launch(q, k, v, out, batch, heads, queries, keys, dim, causal, stream, launch<Swizzled<64>>, launch<Swizzled<128>>);
}
