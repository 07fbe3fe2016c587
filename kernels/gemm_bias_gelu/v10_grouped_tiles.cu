// Changes: blocks go in groups of sixteen rows of tiles, down before right. The 132 that run at a time cover 2048 x
// 2176 outputs instead of 512 x 8192 and share more of what they read.
//
// expected: `tensor-underfed`, with mma.sync where the chip has wgmma. Blocks of a wave go through k side by side, so
//   that L2 serves most reads in either order; from DRAM, at square8k, 1.1 GB come instead of 2.3, of which neither
//   takes more than a third of the time. 1.00 to 1.04 times v9, at wide 1.01 to 1.06.
// measured: on an H200, 2026-11-26: 2.26 ms at square8k, 487 TFLOP/s, 1.017 times v9, 1.044 at wide; in cycles 1.1 %
//   slower: the win is clock. 1.22 GB read instead of 2.54. 0.611 of v1. `tensor-underfed`, 1.81x.
#include "stages.cuh"

constexpr int WARPS_M = 2, WARPS_N = 4;
constexpr int THREADS = WARPS_M * WARPS_N * WARP;
constexpr int TILE_M = 128, TILE_N = 256, STAGES = 4;
constexpr int GROUP = 16;  // rows of tiles
constexpr int TALL = TILE_M / WARPS_M / 16, WIDE = TILE_N / WARPS_N / 8;

struct Place {
    int row, col;
};

// Of a block's first output. The last group has as many rows of tiles as are left.
__device__ inline Place place_of(int block, int tiles_m, int tiles_n) {
    const int first = block / (GROUP * tiles_n) * GROUP, within = block - first * tiles_n;
    const int tall = tiles_m - first < GROUP ? tiles_m - first : GROUP;
    return {(first + within % tall) * TILE_M, within / tall * TILE_N};
}

template <bool ALIGNED>
__global__ void __launch_bounds__(THREADS, 1) gemm_grouped_tiles(Layer layer) {
    const Stages<TILE_M, TILE_N, STAGES> stages = {reinterpret_cast<bf16*>(dynamic_shared())};
    const int warp = threadIdx.x / WARP;
    const Place first = place_of(blockIdx.x, (layer.m + TILE_M - 1) / TILE_M, (layer.n + TILE_N - 1) / TILE_N);
    const int row = warp / WARPS_N * TALL * 16, col = warp % WARPS_N * WIDE * 8;  // in the tile

    Sums<TALL, WIDE> sums = {};
#pragma unroll
    for (int tile = 0; tile < STAGES - 1; ++tile) stages.fetch<THREADS, ALIGNED>(layer, first.row, first.col, tile);
    Fragments<TALL, WIDE> fragments[2];
    wait_for_copies<STAGES - 2>();
    __syncthreads();
    load(fragments[0], stages.x_tile(0), stages.weight_tile(0), row, col, 0);
    for (int tile = 0; tile * DEPTH < layer.k; ++tile) {
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            const int next = (step + 1) % STEPS, of = step + 1 < STEPS ? tile : tile + 1;
            if (next == 0) {
                wait_for_copies<STAGES - 2>();
                __syncthreads();  // the next tile is there for all, and all have loaded the last of this one
            }
            load(fragments[(step + 1) % 2], stages.x_tile(of), stages.weight_tile(of), row, col, next);
            // The stage of the tile before: all had loaded the last of it before they came to this one.
            if (step == 0) stages.fetch<THREADS, ALIGNED>(layer, first.row, first.col, tile + STAGES - 1);
            multiply(sums, fragments[step % 2]);
        }
    }
    finish<ALIGNED>(sums, layer, first.row + row, first.col + col);
}

extern "C" cudaError_t gemm_bias_gelu(const bf16* x, const bf16* weight, const bf16* bias, bf16* out, long long m,
                                      long long n, long long k, cudaStream_t stream) {
    constexpr int BYTES = Stages<TILE_M, TILE_N, STAGES>::BYTES;
    const long long blocks = blocks_of<TILE_M, TILE_N>(m, n, k);
    if (blocks <= 0) return blocks ? cudaErrorInvalidValue : cudaSuccess;
    const Layer layer = {x, weight, bias, out, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k)};
    const auto kernel = is_aligned(layer, 16) ? gemm_grouped_tiles<true> : gemm_grouped_tiles<false>;
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
    if (status != cudaSuccess) return status;
    kernel<<<static_cast<unsigned>(blocks), THREADS, BYTES, stream>>>(layer);
    return cudaGetLastError();
}
