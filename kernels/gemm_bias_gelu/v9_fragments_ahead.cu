// Changes: a warp loads the fragments of the next step before it multiplies those of this one, across the end of a
// tile too: behind the barrier, products are ready to go.
//
// expected: `tensor-underfed`, with mma.sync where the chip has wgmma. The compiler mixes loads and products of a tile
//   by itself; what is won is the first loads behind each barrier, some 60 of 1580 cycles a tile. 1.02 to 1.05 times
//   v8, 0.55 to 0.68 of v1.
// measured: on an H200, 2026-11-26: 2.30 ms at square8k, 1.145 times v8, 1.180 in cycles, far more than predicted.
//   0.602 of v1. `tensor-underfed`, 1.64x.
#include "stages.cuh"

constexpr int WARPS_M = 2, WARPS_N = 4;
constexpr int THREADS = WARPS_M * WARPS_N * WARP;
constexpr int TILE_M = 128, TILE_N = 256, STAGES = 4;
constexpr int TALL = TILE_M / WARPS_M / 16, WIDE = TILE_N / WARPS_N / 8;

template <bool ALIGNED>
__global__ void __launch_bounds__(THREADS, 1) gemm_fragments_ahead(Layer layer) {
    const Stages<TILE_M, TILE_N, STAGES> stages = {reinterpret_cast<bf16*>(dynamic_shared())};
    const int warp = threadIdx.x / WARP, tiles_n = (layer.n + TILE_N - 1) / TILE_N;
    const int first_row = blockIdx.x / tiles_n * TILE_M, first_col = blockIdx.x % tiles_n * TILE_N;
    const int row = warp / WARPS_N * TALL * 16, col = warp % WARPS_N * WIDE * 8;  // in the tile

    Sums<TALL, WIDE> sums = {};
#pragma unroll
    for (int tile = 0; tile < STAGES - 1; ++tile) stages.fetch<THREADS, ALIGNED>(layer, first_row, first_col, tile);
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
            if (step == 0) stages.fetch<THREADS, ALIGNED>(layer, first_row, first_col, tile + STAGES - 1);
            multiply(sums, fragments[step % 2]);
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
    const auto kernel = is_aligned(layer, 16) ? gemm_fragments_ahead<true> : gemm_fragments_ahead<false>;
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
    if (status != cudaSuccess) return status;
    kernel<<<static_cast<unsigned>(blocks), THREADS, BYTES, stream>>>(layer);
    return cudaGetLastError();
}
