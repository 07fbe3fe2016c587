// Changes: the blocks with the most keys start first. Causal, those have a head's last queries: of 64 heads all last
// tiles come first, then all next to last. Some four blocks of a head run at a time and share what L2 brings. Without a
// mask all are alike, and go head by head.
//
// expected: `tensor-underfed`. Causal 1.05 to 1.15 times v9, whose last blocks run 64 tiles of keys while other SMs are
//   done already: 0.85 to 0.95 of the rate without a mask. Keys and values come from DRAM eight times instead of once,
//   0.6 TB/s. Without a mask as v9.
// measured: on an H100, 2026-11-26: 0.809 ms at d128_causal, 340 TFLOP/s, 1.107 times v9, 1.151 times v1; without a
//   mask as v9, 0.999. Causal `tensor-underfed`, 2.24x. v9's rest is found as `tail-effect`, 1.021x.
#include "wide_warps.cuh"

constexpr int SECTION = 64;  // heads; of more, blocks that share keys and values would be too far apart

struct LongestFirst {
    __device__ static Place place(const Grid& grid, int block) {
        const int section = grid.causal ? lesser(SECTION, grid.heads) : 1;
        const int start = block / grid.tiles / section * section, count = lesser(section, grid.heads - start);
        const int rest = block - start * grid.tiles;
        return {start + rest % count, grid.tiles - 1 - rest / count};
    }
};

extern "C" cudaError_t flash_attention(const bf16* q, const bf16* k, const bf16* v, bf16* out, long long batch,
                                       long long heads, long long queries, long long keys, long long dim,
                                       long long causal, cudaStream_t stream) {
    return checked_launch(q, k, v, out, batch, heads, queries, keys, dim, causal, stream,
                          launch<Swizzled<64>, LongestFirst>, launch<Swizzled<128>, LongestFirst>);
}
