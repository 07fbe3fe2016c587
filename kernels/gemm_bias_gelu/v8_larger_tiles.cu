// Changes: tiles of 128 x 256, 64 x 64 a warp: a third less from shared memory and a quarter less from L2 for each
// product. 128 sums a thread leave room for one block an SM, which gets four stages of 48 KB.
//
// expected: `tensor-underfed`, with mma.sync where the chip has wgmma: 32 cycles of shared memory, 44 with the copies,
//   for 49 of the tensor cores. 1.1 to 1.3 times v7, 0.53 to 0.66 of v1. At few_rows 192 blocks in two waves of 132:
//   no faster than v7.
// measured: on an H200, 2026-11-26: 2.63 ms at square8k, 1.094 times v7, 1.034 in cycles: the rest is clock. 0.525 of
//   v1. `tensor-underfed`, 1.93x. 1.19 times slower than v7 at few_rows, with `tail-effect` second.
#include "stages.cuh"

constexpr int WARPS_M = 2, WARPS_N = 4;
constexpr int THREADS = WARPS_M * WARPS_N * WARP;
constexpr int TILE_M = 128, TILE_N = 256, STAGES = 4;
constexpr int TALL = TILE_M / WARPS_M / 16, WIDE = TILE_N / WARPS_N / 8;

template <bool ALIGNED>
__global__ void __launch_bounds__(THREADS, 1) gemm_larger_tiles(Layer layer) {
    const Stages<TILE_M, TILE_N, STAGES> stages = {reinterpret_cast<bf16*>(dynamic_shared())};
    const int warp = threadIdx.x / WARP, tiles_n = (layer.n + TILE_N - 1) / TILE_N;
    const int first_row = blockIdx.x / tiles_n * TILE_M, first_col = blockIdx.x % tiles_n * TILE_N;
    const int row = warp / WARPS_N * TALL * 16, col = warp % WARPS_N * WIDE * 8;  // in the tile

    Sums<TALL, WIDE> sums = {};
#pragma unroll
    for (int tile = 0; tile < STAGES - 1; ++tile) stages.fetch<THREADS, ALIGNED>(layer, first_row, first_col, tile);
    for (int tile = 0; tile * DEPTH < layer.k; ++tile) {
        wait_for_copies<STAGES - 2>();
        __syncthreads();  // this tile is there for all, and all have done with the last one, whose stage is filled next
        stages.fetch<THREADS, ALIGNED>(layer, first_row, first_col, tile + STAGES - 1);
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            Fragments<TALL, WIDE> fragments;
            load(fragments, stages.x_tile(tile), stages.weight_tile(tile), row, col, step);
            multiply(sums, fragments);
        }
    }
    finish<ALIGNED>(sums, layer, first_row + row, first_col + col);
}

extern "C" cudaError_t gemm_bias_gelu(const bf16* x, const bf16* weight, const bf16* bias, bf16* out, long long m,
                                      long long n, long long k, cudaStream_t stream) {
    constexpr int BYTES = Stages<TILE_M, TILE_N, STAGES>::BYTES;
    const long long blocks = blocks_of<TILE_M, TILE_N>(m, n, k);
    if (blocks <= 0) return blocks ? cudaErrorInvalidValue : cudaSuccess;
    const Layer layer = {x, weight, bias, out, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k)};
    const auto kernel = is_aligned(layer, 16) ? gemm_larger_tiles<true> : gemm_larger_tiles<false>;
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
    if (status != cudaSuccess) return status;
    kernel<<<static_cast<unsigned>(blocks), THREADS, BYTES, stream>>>(layer);
    return cudaGetLastError();
}
