// Changes: one thread asks TMA for whole tiles, and barriers in shared memory count what has come. v10's other 255
// threads compute no addresses and issue no copies; TMA swizzles as `place` does.
//
// expected: `tensor-underfed`, with mma.sync where the chip has wgmma. Copies and their addresses were a tenth of v10's
//   instructions, and were issued behind each barrier: 1.00 to 1.05 times v10.
// measured: on an H200, 2026-11-26: 2.29 ms at square8k, 0.984 of v10, with 5 % more instructions. The copies were not
//   what was waited for. `tensor-underfed`, 1.84x.
#include "anywhere.cuh"
#include "raster.cuh"
#include "ring.cuh"

constexpr int WARPS_M = 2, WARPS_N = 4;
constexpr int THREADS = WARPS_M * WARPS_N * WARP;
constexpr int TILE_M = 128, TILE_N = 256, STAGES = 4;
constexpr int GROUP = 16;  // rows of tiles
constexpr int TALL = TILE_M / WARPS_M / 16, WIDE = TILE_N / WARPS_N / 8;
using Tiles = Ring<TILE_M, TILE_N, STAGES>;

__global__ void __launch_bounds__(THREADS, 1)
    gemm_tma(const __grid_constant__ Operands operands, const __grid_constant__ Layer layer) {
    unsigned char* memory = dynamic_shared();
    const Tiles ring = {reinterpret_cast<bf16*>(memory), reinterpret_cast<Barrier*>(memory + Tiles::BYTES)};
    const int warp = threadIdx.x / WARP, tiles = (layer.k + DEPTH - 1) / DEPTH;
    const Place first = place_of<TILE_M, TILE_N, GROUP>(blockIdx.x, layer);
    const int row = warp / WARPS_N * TALL * 16, col = warp % WARPS_N * WIDE * 8;  // in the tile

    if (threadIdx.x == 0) ring.make(1);
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int tile = 0; tile < STAGES - 1 && tile < tiles; ++tile) {
            ring.fetch(operands, tile, first.row, first.col, tile * DEPTH);
        }
    }
    Sums<TALL, WIDE> sums = {};
    Fragments<TALL, WIDE> fragments[2];
    await(ring.full(0), 0);
    load(fragments[0], ring.x_tile(0), ring.weight_tile(0), row, col, 0);
    for (int tile = 0; tile < tiles; ++tile) {
        const int ahead = tile + STAGES - 1;
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            const int next = (step + 1) % STEPS, of = step + 1 < STEPS ? tile : tile + 1;
            if (next == 0) {
                if (of < tiles) await(ring.full(of % STAGES), of / STAGES % 2);
                __syncthreads();  // all have loaded the last of this tile
            }
            // Behind the last tile they are never multiplied: a branch would part these loads from the products.
            load(fragments[(step + 1) % 2], ring.x_tile(of % STAGES), ring.weight_tile(of % STAGES), row, col, next);
            // Into the stage of the tile before, as in v10.
            if (step == 0 && threadIdx.x == 0 && ahead < tiles) {
                ring.fetch(operands, ahead % STAGES, first.row, first.col, ahead * DEPTH);
            }
            multiply(sums, fragments[step % 2]);
        }
    }
    finish<true>(sums, layer, first.row + row, first.col + col);
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
    status = cudaFuncSetAttribute(gemm_tma, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
    if (status != cudaSuccess) return status;
    gemm_tma<<<static_cast<unsigned>(blocks), THREADS, BYTES, stream>>>(operands, layer);
    return cudaGetLastError();
}
