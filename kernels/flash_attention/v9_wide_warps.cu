// Changes: a warp has 32 queries instead of 16, a block 128, so that each operand of k and v that is loaded serves two
// products, and half as many copies are made of a tile. q lies in shared memory and is loaded again for each tile.
//
// expected: `tensor-underfed`, at two thirds of the rate of wgmma at the best: 12 passes for eight mma.sync, not 20.
//   290 to 350 TFLOP/s at d128, 1.2 to 1.5 times v8, 0.85 to 1.0 of v1. At d64 240 to 310. Causal 0.75 to 0.9 of the
//   rate without a mask: the last blocks of a head are its longest. 255 registers let two blocks on an SM, 8 warps.
// measured: on an H100, 2026-11-26: 1.568 ms at d128, 351 TFLOP/s, 1.264 times v8, 1.002 of v1; causal 1.19 times v8.
//   `tensor-underfed`, 2.54x. Slower than v8 elsewhere: 0.991 of it at d64, with eight warps for twelve, to 0.764 at
//   masked, with 40 blocks that see a key for 70.
#include "wide_warps.cuh"

// Head by head, from its first queries on.
struct ByHead {
    __device__ static Place place(const Grid& grid, int block) { return {block / grid.tiles, block % grid.tiles}; }
};

extern "C" cudaError_t flash_attention(const bf16* q, const bf16* k, const bf16* v, bf16* out, long long batch,
                                       long long heads, long long queries, long long keys, long long dim,
                                       long long causal, cudaStream_t stream) {
    return checked_launch(q, k, v, out, batch, heads, queries, keys, dim, causal, stream,
                          launch<Swizzled<64>, ByHead>, launch<Swizzled<128>, ByHead>);
}
