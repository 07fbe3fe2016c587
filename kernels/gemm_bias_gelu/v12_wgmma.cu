// Changes: two warp groups multiply by wgmma, 64 x 256 outputs each, straight from the tiles that TMA has swizzled. No
// fragments pass registers; while the products of a tile run, those of the one before are waited for.
//
// expected: `tensor-underfed` by what a barrier a tile costs, or `at-compute-roofline`. wgmma does the same operations
//   in two thirds of the cycles, and fragments, a third of v10's instructions, are gone: 1.5 to 1.7 times v11, 0.85 to
//   0.95 of v1. At few_rows 192 tiles are two waves for 132 SMs: `tail-effect`, 0.7 of v1.
// measured: on an H200, 2026-11-26: 1.441 ms at square8k, 763 TFLOP/s, 1.593 times v11, 1.749 in cycles; 0.959 of v1,
//   0.707 at few_rows. `tensor-underfed`, 1.045x; few_rows 1.66x and `tail-effect`, 1.22x.
#include "anywhere.cuh"
#include "raster.cuh"
#include "warp_group.cuh"

constexpr int TILE_M = 128, TILE_N = 256, STAGES = 4;
constexpr int THREADS = TILE_M / GROUP_ROWS * GROUP_THREADS;
constexpr int GROUP = 16;  // rows of tiles
constexpr int WIDE = TILE_N / 8;
using Tiles = Ring<TILE_M, TILE_N, STAGES>;

__global__ void __launch_bounds__(THREADS, 1)
    gemm_wgmma(const __grid_constant__ Operands operands, const __grid_constant__ Layer layer) {
    unsigned char* memory = dynamic_shared();
    const Tiles ring = {reinterpret_cast<bf16*>(memory), reinterpret_cast<Barrier*>(memory + Tiles::BYTES)};
    const int tiles = (layer.k + DEPTH - 1) / DEPTH, row = threadIdx.x / GROUP_THREADS * GROUP_ROWS;
    const Place first = place_of<TILE_M, TILE_N, GROUP>(blockIdx.x, layer);

    if (threadIdx.x == 0) ring.make(1);
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int tile = 0; tile < STAGES - 1 && tile < tiles; ++tile) {
            ring.fetch(operands, tile, first.row, first.col, tile * DEPTH);
        }
    }
    Sums<1, WIDE> sums = {};
    for (int tile = 0; tile < tiles; ++tile) {
        const int stage = tile % STAGES, ahead = tile + STAGES - 1;
        await(ring.full(stage), tile / STAGES % 2);
        multiply_tile(sums, ring.x_tile(stage) + row * DEPTH, ring.weight_tile(stage));
        await_products<1>();
        __syncthreads();  // all have multiplied the tile before, whose stage is filled next
        if (threadIdx.x == 0 && ahead < tiles) {
            ring.fetch(operands, ahead % STAGES, first.row, first.col, ahead * DEPTH);
        }
    }
    await_products<0>();
    settle(sums);
    finish<true>(sums, layer, first.row + threadIdx.x / WARP * 16, first.col);
}

extern "C" cudaError_t gemm_bias_gelu(const bf16* x, const bf16* weight, const bf16* bias, bf16* out, long long m,
                                      long long n, long long k, cudaStream_t stream) {
    constexpr int BYTES = Tiles::BYTES + Tiles::BARRIER_BYTES;
    const long long blocks = blocks_of<TILE_M, TILE_N>(m, n, k);
    if (blocks <= 0) return blocks ? cudaErrorInvalidValue : cudaSuccess;
    const Layer layer = {x, weight, bias, out, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k)};
    if (!is_for_tma(layer)) return anywhere::launch(layer, stream);
    Operands operands;
    cudaError_t status = describe(&operands, layer, TILE_M, TILE_N);
    if (status != cudaSuccess) return status;
    status = cudaFuncSetAttribute(gemm_wgmma, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
    if (status != cudaSuccess) return status;
    gemm_wgmma<<<static_cast<unsigned>(blocks), THREADS, BYTES, stream>>>(operands, layer);
    return cudaGetLastError();
}
