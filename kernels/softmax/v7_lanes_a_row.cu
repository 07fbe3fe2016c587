// Changes, to v6: rows of up to 1024 columns go to eight to thirty-two lanes of a warp instead of a block: no thread
// without a pack, no barrier, no shared memory. Lanes for four packs each; from 512 columns on, eight. Longer rows as
// in v6.
//
// expected: at c256 sixteen lanes a row, 96 KB in flight an SM: `at-dram-roofline`, 0.93 to 1.00 of the copy, two to
//   three times v6. c4k, c64k and odd as v6. At small as v6, `launch-bound`, perhaps 0.3 us for the barrier saved.
// measured: 32.6 us at c256, 1.01 of the copy, 3.42 times v6, `at-dram-roofline`. c4k, c64k and odd as v6. At small
//   5.41 us, 1.11 times slower than v6, wrong.
#include "short_rows.cuh"

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

extern "C" cudaError_t softmax(const float* x, float* y, long long rows, long long cols, cudaStream_t stream) {
    if (rows < 0 || cols < 0 || rows > INT_MAX || cols > MOST_COLS) return cudaErrorInvalidValue;
    if (!same_alignment(x, y)) return cudaErrorMisalignedAddress;
    if (rows == 0 || cols == 0) return cudaSuccess;
    if (cols <= LANES_COLS) return by_lanes(x, y, rows, cols, stream);
    const long long each = (cols / PACK - 1) / THREADS + 1;  // packs a thread, at most
    const HeldKernel kernel = each <= MOST_PACKS ? HELD[each - 1] : softmax_read_twice;
    kernel<<<rows, THREADS, 0, stream>>>(x, y, static_cast<int>(cols));
    return cudaGetLastError();
}
