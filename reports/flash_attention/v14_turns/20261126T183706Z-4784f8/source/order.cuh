// Which queries of which head a block has, and its launch.
#pragma once
#include <algorithm>

#include "tma.cuh"

// Tiles of queries of a head, heads, and how many heads go together.
struct Grid {
    int tiles, heads, section;
};
struct Place {
    int head, tile;
};

// The last tiles of all heads of a section come first, then those before them: causal, these have the most keys.
__device__ inline Place place_of(const Grid& grid, int block) {
    const int start = block / grid.tiles / grid.section * grid.section;
    const int count = lesser(grid.section, grid.heads - start);
    const int rest = block - start * grid.tiles;
    return {start + rest % count, grid.tiles - 1 - rest / count};
}

constexpr int SECTION = 64;  // as v10: of more heads, blocks that share keys and values would be too far apart

// T: how a block has its tiles. `section`: heads, where it is causal; without a mask all blocks are alike, and go head
// by head. `most`: blocks. `more`: what this kernel takes beside what all take.
template <class T, class... More>
cudaError_t launch(void (*kernel)(Operands, Attention, Grid, float, More...), const Attention& a, long long heads,
                   long long section, long long most, cudaStream_t stream, More... more) {
    const long long blocks = blocks_of(a, heads, T::ROWS);
    if (blocks == 0) return cudaErrorInvalidValue;
    // TMA has no description of nothing.
    if (a.keys == 0) return cudaMemsetAsync(a.out, 0, heads * a.queries * T::DIM * sizeof(bf16), stream);
    Operands operands;
    cudaError_t status = describe(&operands, a, heads, T::DIM, GROUP_ROWS, T::KEYS);
    if (status != cudaSuccess) return status;
    status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, T::BYTES);
    if (status != cudaSuccess) return status;
    const int together = static_cast<int>(a.causal ? std::min(section, heads) : 1);
    const Grid grid = {tiles_of(a, T::ROWS), static_cast<int>(heads), together};
    const long long count = std::min(blocks, most);
    kernel<<<count, T::THREADS, T::BYTES, stream>>>(operands, a, grid, factor_of(T::DIM), more...);
    return cudaGetLastError();
}
