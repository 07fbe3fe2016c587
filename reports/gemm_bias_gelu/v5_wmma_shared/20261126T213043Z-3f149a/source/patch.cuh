// wmma does not say which element of a tile a lane has, so that the bias of a column can be added only where the sums
// have been stored: a warp's patch of 16 x 16 floats in shared memory.
#pragma once
#include "layer.cuh"
#include "wmma.cuh"

constexpr int SIDE = 16;
constexpr int PATCH_STRIDE = 24;  // floats: four rows of eight, as they are stored, are all banks once
constexpr int PATCH = SIDE * PATCH_STRIDE;

using FragmentX = wmma::fragment<wmma::matrix_a, SIDE, SIDE, SIDE, bf16, wmma::row_major>;
using FragmentWeight = wmma::fragment<wmma::matrix_b, SIDE, SIDE, SIDE, bf16, wmma::col_major>;  // k by n
using FragmentSums = wmma::fragment<wmma::accumulator, SIDE, SIDE, SIDE, float>;

// Each lane of a warp adds the bias to eight sums of a row, applies GELU and writes them.
__device__ inline void finish(const FragmentSums& sums, float* patch, const Layer& layer, int row, int col,
                              bool aligned) {
    wmma::store_matrix_sync(patch, sums, PATCH_STRIDE, wmma::mem_row_major);
    __syncwarp();
    const int lane = threadIdx.x % WARP, along = lane % 2 * CHUNK;
    const float* mine = patch + lane / 2 * PATCH_STRIDE + along;
    row += lane / 2;
    col += along;
    alignas(16) bf16 results[CHUNK];
#pragma unroll
    for (int i = 0; i < CHUNK; ++i) results[i] = __float2bfloat16_rn(gelu(mine[i] + bias_at(layer, col + i)));
    __syncwarp();  // the patch may be used again
    if (row >= layer.m) return;
    bf16* to = layer.out + static_cast<long long>(row) * layer.n + col;
    if (aligned) {
        if (col < layer.n) *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(results);
        return;
    }
#pragma unroll
    for (int i = 0; i < CHUNK; ++i) {
        if (col + i < layer.n) to[i] = results[i];
    }
}
