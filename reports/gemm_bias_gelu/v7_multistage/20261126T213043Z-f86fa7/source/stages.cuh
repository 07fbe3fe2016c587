// Tiles of both operands in several stages of dynamic shared memory, filled while earlier ones are multiplied.
#pragma once
#include "fragments.cuh"

// Rows first, first + 1, ... of a matrix, 64 elements each from k0 on; zeros where it has none. Not ALIGNED, elements
// go through registers.
template <int ROWS, int THREADS, bool ALIGNED>
__device__ inline void fill(bf16* tile, const bf16* matrix, int first, int rows, int k0, int k) {
    constexpr int APART = THREADS / CHUNKS, EACH = ROWS / APART;
    static_assert(ROWS % APART == 0 && THREADS % CHUNKS == 0, "a thread has the same chunk of every row");
    const int row = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS, col = k0 + chunk * CHUNK;
    const int left = col < k ? rows - first - row : 0;
    const bf16* from = matrix + static_cast<long long>(first + row) * k + col;
#pragma unroll(ALIGNED ? EACH : 1)
    for (int i = 0; i < EACH; ++i) {
        bf16* to = place(tile, row + i * APART, chunk);
        if (ALIGNED) {
            copy_async_16(to, from + static_cast<long long>(i * APART) * k, i * APART < left);
        } else {
            *reinterpret_cast<uint4*>(to) = chunk_at<false>(matrix, first + row + i * APART, rows, col, k);
        }
    }
}

template <int TILE_M, int TILE_N, int STAGES>
struct Stages {
    static constexpr int ELEMENTS = (TILE_M + TILE_N) * DEPTH, BYTES = STAGES * ELEMENTS * sizeof(bf16);
    bf16* memory;
    __device__ bf16* x_tile(int tile) const { return memory + tile % STAGES * ELEMENTS; }
    __device__ bf16* weight_tile(int tile) const { return x_tile(tile) + TILE_M * DEPTH; }
    // One group of copies, empty behind the last tile.
    template <int THREADS, bool ALIGNED>
    __device__ void fetch(const Layer& layer, int first_row, int first_col, int tile) const {
        const int k0 = tile * DEPTH;
        if (k0 < layer.k) {
            fill<TILE_M, THREADS, ALIGNED>(x_tile(tile), layer.x, first_row, layer.m, k0, layer.k);
            fill<TILE_N, THREADS, ALIGNED>(weight_tile(tile), layer.weight, first_col, layer.n, k0, layer.k);
        }
        commit_copies();
    }
};
