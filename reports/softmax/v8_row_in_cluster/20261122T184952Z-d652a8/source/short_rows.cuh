// Rows that fit one block: of up to 1024 columns by eight to thirty-two lanes of a warp, lanes for four packs each and
// from 512 columns on for eight; longer ones by a block.
#pragma once
#include <climits>
#include <cuda_runtime.h>

#include "held.cuh"

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / WARP;
constexpr int MOST_PACKS = 8;  // a thread
constexpr int SMALL_BLOCK = 64;  // where lanes have rows: few rows should reach many SMs
constexpr long long LANES_COLS = 32 * 8 * PACK;  // the most of a row that lanes have
constexpr long long MOST_COLS = 1 << 30;

template <int LANES, int PACKS>
__global__ void __launch_bounds__(SMALL_BLOCK)
    softmax_lanes(const float* __restrict__ x, float* __restrict__ y, long long rows, int cols) {
    static_assert(LANES >= MOST_EDGES, "an edge a lane");
    const long long index = (static_cast<long long>(blockIdx.x) * SMALL_BLOCK + threadIdx.x) / LANES;
    const bool inside = index < rows;  // the last warp has lanes without a row, but every lane is needed to shuffle
    const long long start = inside ? index * cols : 0;
    const int lane = threadIdx.x % LANES;
    const Row shape = row_at(x + start, inside ? cols : 0);
    Held<PACKS> held = load<PACKS>(x + start, shape, lane, LANES, lane);
    const Statistics part = raised(held);
    scale(held, factor_of(part.max, over_lanes<LANES>(part)));
    store(y + start, shape, lane, LANES, lane, held);
}

template <int PACKS>
__global__ void __launch_bounds__(THREADS) softmax_held(const float* __restrict__ x, float* __restrict__ y, int cols) {
    __shared__ Statistics parts[WARPS];
    const long long start = static_cast<long long>(blockIdx.x) * cols;
    const int tid = threadIdx.x;
    const Row shape = row_at(x + start, cols);
    Held<PACKS> held = load<PACKS>(x + start, shape, tid, THREADS, tid);
    const Statistics part = raised(held);
    const Statistics row = over_block<WARPS>(part, parts);
    scale(held, factor_of(part.max, row));
    store(y + start, shape, tid, THREADS, tid, held);
}

using HeldKernel = void (*)(const float*, float*, int);
constexpr HeldKernel HELD[MOST_PACKS] = {softmax_held<1>, softmax_held<2>, softmax_held<3>, softmax_held<4>,
                                         softmax_held<5>, softmax_held<6>, softmax_held<7>, softmax_held<8>};

template <int LANES, int PACKS>
inline cudaError_t by_lanes(const float* x, float* y, long long rows, long long cols, cudaStream_t stream) {
    constexpr int ROWS = SMALL_BLOCK / LANES;  // a block
    const auto kernel = softmax_lanes<LANES, PACKS>;
    kernel<<<(rows - 1) / ROWS + 1, SMALL_BLOCK, 0, stream>>>(x, y, rows, static_cast<int>(cols));
    return cudaGetLastError();
}

inline cudaError_t by_lanes(const float* x, float* y, long long rows, long long cols, cudaStream_t stream) {
    if (cols <= 8 * 4 * PACK) return by_lanes<8, 4>(x, y, rows, cols, stream);
    if (cols <= 16 * 4 * PACK) return by_lanes<16, 4>(x, y, rows, cols, stream);
    if (cols <= 32 * 4 * PACK) return by_lanes<32, 4>(x, y, rows, cols, stream);
    return by_lanes<32, 8>(x, y, rows, cols, stream);
}
