// Rows of any length. Those of more than 8192 columns are spread over a cluster of two to eight blocks, which tell each
// other the statistics of their warps through an Exchange. Up to 65,536 columns they stay in registers, 32 values a
// thread, and are read once; longer ones are read twice, by a cluster of eight.
#pragma once
#include "cluster.cuh"
#include "short_rows.cuh"

#if HAS_CLUSTERS
template <typename Exchange>
__device__ inline Statistics over_cluster(Statistics part, Exchange& exchange, int blocks) {
    const Statistics of_warp = over_lanes(part);
    const int lane = threadIdx.x % WARP, warp = rank_in_cluster() * WARPS + threadIdx.x / WARP;
    exchange.tell(lane, warp, of_warp, blocks);
    Statistics all = NOTHING;
    for (int i = lane; i < blocks * WARPS; i += WARP) all = merged(all, exchange.parts[i]);
    return over_lanes(all);
}
#endif

// A block holds PACKS * THREADS packs that stand side by side; the first one the edges, too.
template <typename Exchange, int PACKS>
__global__ void __launch_bounds__(THREADS)
    softmax_spread(const float* __restrict__ x, float* __restrict__ y, int cols, int blocks) {
#if HAS_CLUSTERS
    __shared__ Exchange exchange;
    exchange.begin(blocks);
    const int rank = rank_in_cluster(), first = rank * PACKS * THREADS + threadIdx.x;
    const int edge = rank ? NO_EDGE : threadIdx.x;
    const long long start = static_cast<long long>(blockIdx.x / blocks) * cols;
    const Row shape = row_at(x + start, cols);
    Held<PACKS> held = load<PACKS>(x + start, shape, first, THREADS, edge);
    const Statistics part = raised(held);
    const Statistics row = over_cluster(part, exchange, blocks);
    scale(held, factor_of(part.max, row));
    store(y + start, shape, first, THREADS, edge, held);
#endif
}

template <typename Exchange>
__global__ void __launch_bounds__(THREADS)
    softmax_read_twice(const float* __restrict__ x, float* __restrict__ y, int cols, int blocks) {
#if HAS_CLUSTERS
    __shared__ Exchange exchange;
    exchange.begin(blocks);
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
    const Statistics row = over_cluster(part, exchange, blocks);
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

using SpreadKernel = void (*)(const float*, float*, int, int);
template <typename Exchange>
constexpr SpreadKernel SPREAD[MOST_PACKS] = {softmax_spread<Exchange, 1>, softmax_spread<Exchange, 2>,
                                             softmax_spread<Exchange, 3>, softmax_spread<Exchange, 4>,
                                             softmax_spread<Exchange, 5>, softmax_spread<Exchange, 6>,
                                             softmax_spread<Exchange, 7>, softmax_spread<Exchange, 8>};

// A cluster of `blocks` a row.
template <typename Exchange>
cudaError_t by_clusters(const float* x, float* y, long long rows, long long cols, int blocks,
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
    const SpreadKernel kernel = each <= MOST_PACKS ? SPREAD<Exchange>[each - 1] : softmax_read_twice<Exchange>;
    status = cudaLaunchKernelEx(&config, kernel, x, y, static_cast<int>(cols), blocks);
    cudaGetLastError();  // has the same error once more, and would keep it for the next launch
    return status;
}

template <typename Exchange>
cudaError_t softmax_of_any(const float* x, float* y, long long rows, long long cols, cudaStream_t stream) {
    if (rows < 0 || cols < 0 || rows > INT_MAX || cols > MOST_COLS) return cudaErrorInvalidValue;
    if (!same_alignment(x, y)) return cudaErrorMisalignedAddress;
    if (rows == 0 || cols == 0) return cudaSuccess;
    if (cols <= LANES_COLS) return by_lanes(x, y, rows, cols, stream);
    const long long each = (cols / PACK - 1) / THREADS + 1;  // packs a thread of one block, at most
    for (int blocks = 2; each > MOST_PACKS && blocks <= MOST_BLOCKS; blocks *= 2) {
        if (each > blocks * MOST_PACKS && blocks < MOST_BLOCKS) continue;
        return by_clusters<Exchange>(x, y, rows, cols, blocks, stream);
    }
    const HeldKernel kernel = HELD[each - 1];
    kernel<<<rows, THREADS, 0, stream>>>(x, y, static_cast<int>(cols));
    return cudaGetLastError();
}
