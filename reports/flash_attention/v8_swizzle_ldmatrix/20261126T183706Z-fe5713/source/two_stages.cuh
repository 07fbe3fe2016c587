// A warp has 16 queries, a block 64. While one tile is used the next arrives by asynchronous copies in the other of two
// stages. One barrier a tile: behind it the tile is there for all, and all are done with the one before.
#pragma once
#include "copy_rows.cuh"

constexpr int ROWS = THREADS / WARP * ROWS_A_MMA;  // queries of a block

template <typename Tile>
__global__ void __launch_bounds__(THREADS)
    attend(const __grid_constant__ Attention a, int tiles, float factor) {
    constexpr int DIM = Tile::DIM, TILE = KEYS * DIM;
    bf16* stages = reinterpret_cast<bf16*>(dynamic_shared());  // of each two tiles: keys, values
    const int head = static_cast<int>(blockIdx.x) / tiles;
    const int first = static_cast<int>(blockIdx.x) % tiles * ROWS;
    const bf16 *k = a.head_of_k(head, DIM), *v = a.head_of_v(head, DIM);
    const int row = first + static_cast<int>(threadIdx.x) / WARP * ROWS_A_MMA;  // of the warp
    const int end = a.seen_by_any(first, ROWS), seen_by_all = a.seen_by(row);
    const auto copy = [&](int key, bf16* stage) {
        copy_rows<Tile, KEYS>(stage, k, key, a.keys);
        copy_rows<Tile, KEYS>(stage + TILE, v, key, a.keys);
        commit_copies();
    };
    if (end > 0) copy(0, stages);

    Queries<DIM> queries;
    load_queries<DIM>(queries, a.head_of_q(head, DIM), row, a.queries);
    Result<DIM> result = {};
    Statistics rows;
    for (int key = 0; key < end; key += KEYS) {
        bf16* stage = stages + key / KEYS % 2 * 2 * TILE;
        wait_for_copies<0>();
        __syncthreads();
        if (key + KEYS < end) copy(key + KEYS, stages + (key / KEYS + 1) % 2 * 2 * TILE);
        Scores scores = {};
        Tile::multiply(scores, queries, stage);
        if (key + KEYS > seen_by_all) mask(scores, a, row, key);
        raise<DIM>(scores, result, rows, factor);
        Tile::add(result, scores, stage + TILE);
    }
    write<DIM>(a.head_of_out(head, DIM), result, rows, row, a.queries);
}

template <typename Tile>
cudaError_t launch(const Attention& a, long long heads, cudaStream_t stream) {
    constexpr int BYTES = 4 * Tile::BYTES;
    const long long blocks = blocks_of(a, heads, ROWS);
    if (blocks == 0) return cudaErrorInvalidValue;
    const auto kernel = attend<Tile>;
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
    if (status != cudaSuccess) return status;
    kernel<<<blocks, THREADS, BYTES, stream>>>(a, tiles_of(a, ROWS), factor_of(Tile::DIM));
    return cudaGetLastError();
}
