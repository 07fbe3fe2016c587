// Changes, to v7: rows of more than 8192 columns are spread over a cluster of two to eight blocks. Up to 65,536
// columns they stay in registers, 32 values a thread, and are read once. Each warp writes its statistics into the
// shared memory of all blocks of the cluster, so that a row costs one barrier. Longer rows are still read twice, by a
// cluster of eight, so that fewer of them are in work at a time.
//
// expected: `at-dram-roofline` at c64k: four blocks of 32 KB in flight an SM, 66 rows in work, one read, one write.
//   0.92 to 0.98 of the copy, 1.45 times v6; what is missing is waiting for the slowest of eight blocks, and for room
//   for the eight of the next row at once. The other workloads as v7.
#include <climits>
#include <cuda_runtime.h>

#include "cluster.cuh"
#include "held.cuh"

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / WARP;
constexpr int MOST_PACKS = 8;  // a thread
constexpr int SMALL_BLOCK = 64;  // where lanes have rows: few rows should reach many SMs
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

#if HAS_CLUSTERS
// Over all blocks of a cluster that has arrived once before: none is written to that has not started. `parts` has
// room for every warp of the cluster.
__device__ inline Statistics over_cluster(Statistics part, Statistics* parts, int blocks) {
    const Statistics of_warp = over_lanes(part);
    const int lane = threadIdx.x % WARP, warp = rank_in_cluster() * WARPS + threadIdx.x / WARP;
    await_cluster();
    if (lane < blocks) write_to(lane, parts + warp, of_warp);
    __syncwarp();
    arrive_in_cluster();
    await_cluster();  // from here on nobody writes to another block, which may have ended
    Statistics all = NOTHING;
    for (int i = lane; i < blocks * WARPS; i += WARP) all = merged(all, parts[i]);
    return over_lanes(all);
}
#endif

// A block holds PACKS * THREADS packs that stand side by side; the first one the edges, too.
template <int PACKS>
__global__ void __launch_bounds__(THREADS)
    softmax_spread(const float* __restrict__ x, float* __restrict__ y, int cols, int blocks) {
#if HAS_CLUSTERS
    __shared__ Statistics parts[MOST_BLOCKS * WARPS];
    arrive_in_cluster();
    const int rank = rank_in_cluster(), first = rank * PACKS * THREADS + threadIdx.x;
    const int edge = rank ? NO_EDGE : threadIdx.x;
    const long long start = static_cast<long long>(blockIdx.x / blocks) * cols;
    const Row shape = row_at(x + start, cols);
    Held<PACKS> held = load<PACKS>(x + start, shape, first, THREADS, edge);
    const Statistics part = raised(held);
    const Statistics row = over_cluster(part, parts, blocks);
    scale(held, factor_of(part.max, row));
    store(y + start, shape, first, THREADS, edge, held);
#endif
}

__global__ void __launch_bounds__(THREADS)
    softmax_read_twice(const float* __restrict__ x, float* __restrict__ y, int cols, int blocks) {
#if HAS_CLUSTERS
    __shared__ Statistics parts[MOST_BLOCKS * WARPS];
    arrive_in_cluster();
    const int mine = rank_in_cluster() * MOST_PACKS * THREADS, step = blocks * MOST_PACKS * THREADS;
    const long long start = static_cast<long long>(blockIdx.x / blocks) * cols;
    const Row shape = row_at(x + start, cols);
    Statistics part = NOTHING;
#pragma unroll 1
    for (int first = mine; first < shape.packs; first += step) {
        const int edge = first ? NO_EDGE : threadIdx.x;
        Held<MOST_PACKS> held = load<MOST_PACKS>(x + start, shape, first + threadIdx.x, THREADS, edge);
        part = merged(part, raised(held));
    }
    const Statistics row = over_cluster(part, parts, blocks);
    const float inverse = 1.0f / row.sum;
#pragma unroll 1
    for (int first = mine; first < shape.packs; first += step) {
        const int edge = first ? NO_EDGE : threadIdx.x;
        Held<MOST_PACKS> held = load<MOST_PACKS>(x + start, shape, first + threadIdx.x, THREADS, edge);
        raise(held, row.max, inverse);
        store(y + start, shape, first + threadIdx.x, THREADS, edge, held);
    }
#endif
}

using HeldKernel = void (*)(const float*, float*, int);
using SpreadKernel = void (*)(const float*, float*, int, int);
constexpr HeldKernel HELD[MOST_PACKS] = {softmax_held<1>, softmax_held<2>, softmax_held<3>, softmax_held<4>,
                                         softmax_held<5>, softmax_held<6>, softmax_held<7>, softmax_held<8>};
constexpr SpreadKernel SPREAD[MOST_PACKS] = {softmax_spread<1>, softmax_spread<2>, softmax_spread<3>,
                                             softmax_spread<4>, softmax_spread<5>, softmax_spread<6>,
                                             softmax_spread<7>, softmax_spread<8>};

template <int LANES, int PACKS>
static cudaError_t by_lanes(const float* x, float* y, long long rows, long long cols, cudaStream_t stream) {
    constexpr int ROWS = SMALL_BLOCK / LANES;  // a block
    const auto kernel = softmax_lanes<LANES, PACKS>;
    kernel<<<(rows - 1) / ROWS + 1, SMALL_BLOCK, 0, stream>>>(x, y, rows, static_cast<int>(cols));
    return cudaGetLastError();
}

// A cluster of `blocks` a row.
static cudaError_t by_clusters(const float* x, float* y, long long rows, long long cols, int blocks,
                               cudaStream_t stream) {
    int device = 0, major = 0;
    cudaError_t status = cudaGetDevice(&device);
    if (status == cudaSuccess) status = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (status != cudaSuccess) return status;
    if (major < 9) return cudaErrorNotSupported;
    if (rows > INT_MAX / blocks) return cudaErrorInvalidValue;
    const long long each = (cols / PACK - 1) / (blocks * THREADS) + 1;  // packs a thread, at most
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(static_cast<unsigned>(rows * blocks));
    config.blockDim = dim3(THREADS);
    config.stream = stream;
    config.attrs = &cluster;
    config.numAttrs = 1;
    const SpreadKernel kernel = each <= MOST_PACKS ? SPREAD[each - 1] : softmax_read_twice;
    status = cudaLaunchKernelEx(&config, kernel, x, y, static_cast<int>(cols), blocks);
    cudaGetLastError();  // has the same error once more, and would keep it for the next launch
    return status;
}

extern "C" cudaError_t softmax(const float* x, float* y, long long rows, long long cols, cudaStream_t stream) {
    if (rows < 0 || cols < 0 || rows > INT_MAX || cols > MOST_COLS) return cudaErrorInvalidValue;
    if (!same_alignment(x, y)) return cudaErrorMisalignedAddress;
    if (rows == 0 || cols == 0) return cudaSuccess;
    if (cols <= 8 * 4 * PACK) return by_lanes<8, 4>(x, y, rows, cols, stream);
    if (cols <= 16 * 4 * PACK) return by_lanes<16, 4>(x, y, rows, cols, stream);
    if (cols <= 32 * 4 * PACK) return by_lanes<32, 4>(x, y, rows, cols, stream);
    if (cols <= 32 * 8 * PACK) return by_lanes<32, 8>(x, y, rows, cols, stream);
    const long long each = (cols / PACK - 1) / THREADS + 1;  // packs a thread of one block, at most
    for (int blocks = 2; each > MOST_PACKS && blocks <= MOST_BLOCKS; blocks *= 2) {
        if (each <= blocks * MOST_PACKS || blocks == MOST_BLOCKS) return by_clusters(x, y, rows, cols, blocks, stream);
    }
    const HeldKernel kernel = HELD[each - 1];
    kernel<<<rows, THREADS, 0, stream>>>(x, y, static_cast<int>(cols));
    return cudaGetLastError();
}
