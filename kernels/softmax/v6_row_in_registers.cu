// Changes, to v4: the row stays in registers between its statistics and its output: one read, one write, 128 bits an
// access, one barrier. Each thread raises its values from its own maximum, so the row's maximum comes as a factor.
// Rows of more than 8192 columns are read twice, thirty-two values a thread at a time.
// parent: v4
//
// expected: `at-dram-roofline` at c4k: six blocks of 16 KB in flight an SM, five waves. 0.93 to 1.00 of the copy, and
//   within 3 % of that at odd. At c64k three passes for two, `redundant-traffic`, 0.6 to 0.66. At c256 threads idle:
//   64 of 256 have a pack, `low-bytes-in-flight`, 8 KB an SM, 0.3 to 0.5.
// measured: 31.4 us at c4k, 1.04 of the copy, level with v5, `at-dram-roofline`; odd 2.2 % more than c4k. 0.66 at c64k,
//   `redundant-traffic`, 1.48x. 0.30 at c256, not for want of bytes in flight: `pipe-bound` (issue), 1.70x.
#include <climits>
#include <cuda_runtime.h>

#include "held.cuh"

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / WARP;
constexpr int MOST_PACKS = 8;  // a thread
constexpr long long MOST_COLS = 1 << 30;

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

__global__ void __launch_bounds__(THREADS)
    softmax_read_twice(const float* __restrict__ x, float* __restrict__ y, int cols) {
    __shared__ Statistics parts[WARPS];
    const long long start = static_cast<long long>(blockIdx.x) * cols;
    const int tid = threadIdx.x;
    const Row shape = row_at(x + start, cols);
    Statistics part = NOTHING;
#pragma unroll 1
    for (int first = 0; first < shape.packs; first += MOST_PACKS * THREADS) {
        Held<MOST_PACKS> held = load<MOST_PACKS>(x + start, shape, first + tid, THREADS, first ? NO_EDGE : tid);
        part = merged(part, raised(held));
    }
    const Statistics row = over_block<WARPS>(part, parts);
    const float inverse = 1.0f / row.sum;
#pragma unroll 1
    for (int first = 0; first < shape.packs; first += MOST_PACKS * THREADS) {
        Held<MOST_PACKS> held = load<MOST_PACKS>(x + start, shape, first + tid, THREADS, first ? NO_EDGE : tid);
        raise(held, row.max, inverse);
        store(y + start, shape, first + tid, THREADS, first ? NO_EDGE : tid, held);
    }
}

using Kernel = void (*)(const float*, float*, int);
constexpr Kernel HELD[MOST_PACKS] = {softmax_held<1>, softmax_held<2>, softmax_held<3>, softmax_held<4>,
                                     softmax_held<5>, softmax_held<6>, softmax_held<7>, softmax_held<8>};

extern "C" cudaError_t softmax(const float* x, float* y, long long rows, long long cols, cudaStream_t stream) {
    if (rows < 0 || cols < 0 || rows > INT_MAX || cols > MOST_COLS) return cudaErrorInvalidValue;
    if (!same_alignment(x, y)) return cudaErrorMisalignedAddress;
    if (rows == 0 || cols == 0) return cudaSuccess;
    const long long packs = cols / PACK > 1 ? cols / PACK : 1, each = (packs - 1) / THREADS + 1;  // at most
    const Kernel kernel = each <= MOST_PACKS ? HELD[each - 1] : softmax_read_twice;
    kernel<<<rows, THREADS, 0, stream>>>(x, y, static_cast<int>(cols));
    return cudaGetLastError();
}
