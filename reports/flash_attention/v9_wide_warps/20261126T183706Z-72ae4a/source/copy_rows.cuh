// Asynchronous copies of rows by a block of 128 threads.
#pragma once
#include "fragments.cuh"

constexpr int THREADS = 128;

// COUNT rows of a matrix of `count`, from `first` on, into a tile; zeros behind the last one. A thread has the same 16
// bytes of every eighth or sixteenth row, which are swizzled alike.
template <typename Tile, int COUNT>
__device__ inline void copy_rows(bf16* tile, const bf16* from, int first, int count) {
    constexpr int CHUNKS = Tile::DIM / CHUNK, STEP = THREADS / CHUNKS;
    const int own = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS, left = count - first - own;
    const bf16* mine = from + (first + own) * static_cast<long long>(Tile::DIM) + chunk * CHUNK;
    bf16* to = tile + Tile::place(own, chunk);
#pragma unroll
    for (int i = 0; i < COUNT; i += STEP) copy_async_16(to + i * Tile::DIM, mine + i * Tile::DIM, i < left);
}
