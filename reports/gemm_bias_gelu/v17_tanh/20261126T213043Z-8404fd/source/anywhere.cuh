// Where rows do not start on 16 bytes TMA has no description of a matrix: v7's kernel, element by element.
#pragma once
#include "stages.cuh"

namespace anywhere {
constexpr int WARPS_M = 2, WARPS_N = 4, THREADS = WARPS_M * WARPS_N * WARP;
constexpr int TILE_M = 128, TILE_N = 128, STAGES = 3;
constexpr int TALL = TILE_M / WARPS_M / 16, WIDE = TILE_N / WARPS_N / 8;

__global__ void __launch_bounds__(THREADS, 2) gemm_anywhere(Layer layer) {
    const Stages<TILE_M, TILE_N, STAGES> stages = {reinterpret_cast<bf16*>(dynamic_shared())};
    const int warp = threadIdx.x / WARP, tiles_n = (layer.n + TILE_N - 1) / TILE_N;
    const int first_row = blockIdx.x / tiles_n * TILE_M, first_col = blockIdx.x % tiles_n * TILE_N;
    const int row = warp / WARPS_N * TALL * 16, col = warp % WARPS_N * WIDE * 8;  // in the tile

    Sums<TALL, WIDE> sums = {};
#pragma unroll
    for (int tile = 0; tile < STAGES - 1; ++tile) stages.fetch<THREADS, false>(layer, first_row, first_col, tile);
    for (int tile = 0; tile * DEPTH < layer.k; ++tile) {
        wait_for_copies<STAGES - 2>();
        __syncthreads();  // this tile is there for all, and all have done with the last one, whose stage is filled next
        stages.fetch<THREADS, false>(layer, first_row, first_col, tile + STAGES - 1);
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            Fragments<TALL, WIDE> fragments;
            load(fragments, stages.x_tile(tile), stages.weight_tile(tile), row, col, step);
            multiply(sums, fragments);
        }
    }
    finish<false>(sums, layer, first_row + row, first_col + col);
}

inline cudaError_t launch(const Layer& layer, cudaStream_t stream) {
    constexpr int BYTES = Stages<TILE_M, TILE_N, STAGES>::BYTES;
    const long long blocks = blocks_of<TILE_M, TILE_N>(layer.m, layer.n, layer.k);
    if (blocks <= 0) return blocks ? cudaErrorInvalidValue : cudaSuccess;
    const cudaError_t status = cudaFuncSetAttribute(gemm_anywhere, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
    if (status != cudaSuccess) return status;
    gemm_anywhere<<<static_cast<unsigned>(blocks), THREADS, BYTES, stream>>>(layer);
    return cudaGetLastError();
}
}  // namespace anywhere

// Whether TMA can describe all matrices: rows start on 16 bytes, and there is something to sum.
inline bool is_for_tma(const Layer& layer) { return is_aligned(layer, 16) && layer.k > 0; }
