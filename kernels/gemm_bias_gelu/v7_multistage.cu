// Changes: three stages of tiles, filled by cp.async two tiles ahead: no registers, no waiting for a load, one barrier
// a tile. 96 KB of shared memory a block, still two blocks an SM.
//
// expected: `tensor-underfed`, with mma.sync where the chip has wgmma. What is left is shared memory: a warp of 64 x
//   32 loads 3 KB for 64 x 32 x 16 products, 24 cycles of the SM's shared memory for 25 of its tensor cores, and 8
//   more for the copies; and L2, which has to bring 512 bytes for 32,768 operations, 7 TB/s at 450 TFLOP/s: perhaps
//   `l2-bound`. 1.3 to 1.8 times v6, 0.42 to 0.58 of v1.
// measured: on an H200, 2026-11-26: 2.88 ms at square8k, 1.328 times v6, 0.480 of v1; 1.40 in cycles, at a lower clock.
//   `tensor-underfed`, 1.49x. 6.65 GB read from DRAM. The fastest of ours before v12 at few_rows, 115 us.
#include "stages.cuh"

constexpr int WARPS_M = 2, WARPS_N = 4;
constexpr int THREADS = WARPS_M * WARPS_N * WARP;
constexpr int TILE_M = 128, TILE_N = 128, STAGES = 3;
constexpr int TALL = TILE_M / WARPS_M / 16, WIDE = TILE_N / WARPS_N / 8;

template <bool ALIGNED>
__global__ void __launch_bounds__(THREADS, 2) gemm_multistage(Layer layer) {
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
    const auto kernel = is_aligned(layer, 16) ? gemm_multistage<true> : gemm_multistage<false>;
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
    if (status != cudaSuccess) return status;
    kernel<<<static_cast<unsigned>(blocks), THREADS, BYTES, stream>>>(layer);
    return cudaGetLastError();
}
