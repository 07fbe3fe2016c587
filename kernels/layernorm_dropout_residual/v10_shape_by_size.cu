// Changes, to v8: each warp takes differences to its own mean, so that a row costs one barrier instead of two; the
// draws of bfloat16 are compared where they are used; no bounds where threads and row come out even. Rows of up to 1024
// columns go to eight to thirty-two lanes, those of 8193 to 131,072 to a cluster of two to eight blocks.
// parent: v8
//
// expected: `at-dram-roofline` at c4k: 0.93 to 0.99 of the copy in float32, 1.0 to 1.05 times v8; 0.88 to 0.96 in
//   bfloat16, 1.0 to 1.1 times v8, for an eighth of its instructions is gone. At c128k x is read once instead of three
//   times and 512 blocks fill the GPU where 64 did not: 2 to 4 times v8, 0.7 to 0.9 of the copy. At c24 ten times v8,
//   whose threads mostly idle: 0.6 to 0.85 of the copy. one_row 0.3 us less.
// measured: 185.4 us at c4k_f32, 1.02 of the copy; 99.3 at c4k_bf16, 0.96. c128k 3.8 times v8, 0.65 of the copy; c24 22
//   times. At c4093_bf16 49.0 us, 1.06 times v9; 87.9 while each load of two bytes waited for the one before.
#include <climits>

#include "cluster.cuh"

constexpr int SMALL_BLOCK = 128;   // where lanes have rows
constexpr int SPREAD_BLOCK = 512;  // of a cluster
constexpr int SPREAD_WARPS = SPREAD_BLOCK / WARP;

template <typename T, typename Raw, int VALUES, int LANES>
__global__ void __launch_bounds__(SMALL_BLOCK)
    rows_by_lanes(const Raw* __restrict__ x, const Raw* __restrict__ residual, const Raw* __restrict__ gamma,
                  const Raw* __restrict__ beta, Raw* __restrict__ out, long long rows, int cols,
                  const __grid_constant__ Dropout dropout) {
    constexpr int PACKS = VALUES / SIZE<T, Raw>;
    const long long index = (static_cast<long long>(blockIdx.x) * SMALL_BLOCK + threadIdx.x) / LANES;
    const bool inside = index < rows;  // the last warp has lanes without a row, but every lane is needed to shuffle
    const int packs = inside ? cols / SIZE<T, Raw> : 0;
    const long long start = index * (cols / SIZE<T, Raw>);
    Share<T, Raw, PACKS, false> share = {static_cast<int>(threadIdx.x % LANES), LANES, packs};
    Raw addend[PACKS];
    share.load(x + start, residual + start, addend);
    const Kept<SIZE<T, Raw>, PACKS, LANES> kept(dropout, 0, LANES, static_cast<unsigned>(index));
    const Part part = share.template part<LANES>();
    const Row row = row_of(part.mean, part.squares, cols);
    share.store(out + start, gamma, beta, [&](int k) { return addend[k]; }, row, part.mean, dropout.scale, kept);
}

template <typename T, typename Raw, int BLOCK, int VALUES, bool FULL>
__global__ void __launch_bounds__(BLOCK)
    block_a_row(const Raw* __restrict__ x, const Raw* __restrict__ residual, const Raw* __restrict__ gamma,
                const Raw* __restrict__ beta, Raw* __restrict__ out, int cols,
                const __grid_constant__ Dropout dropout) {
    constexpr int PACKS = VALUES / SIZE<T, Raw>, OF_BLOCK = BLOCK / WARP;
    __shared__ Part parts[OF_BLOCK];
    const int packs = cols / SIZE<T, Raw>, warp = threadIdx.x / WARP;
    const long long start = static_cast<long long>(blockIdx.x) * packs;
    Share<T, Raw, PACKS, FULL> share = {static_cast<int>(threadIdx.x), BLOCK, packs};
    Raw addend[PACKS];
    share.load(x + start, residual + start, addend);
    const Kept<SIZE<T, Raw>, PACKS> kept(dropout, warp * WARP, BLOCK, blockIdx.x);
    const Part part = share.part();
    if (threadIdx.x % WARP == 0) parts[warp] = part;
    __syncthreads();
    const Row row = row_of_parts<OF_BLOCK>(parts, OF_BLOCK, cols);
    share.store(out + start, gamma, beta, [&](int k) { return addend[k]; }, row, part.mean, dropout.scale, kept);
}

// A cluster of `blocks` a row. The registers are for x, so the residual waits in L2 until it is needed.
template <typename T, typename Raw, int VALUES>
__global__ void __launch_bounds__(SPREAD_BLOCK, 2)
    cluster_a_row(const Raw* __restrict__ x, const Raw* __restrict__ residual, const Raw* __restrict__ gamma,
                  const Raw* __restrict__ beta, Raw* __restrict__ out, int cols, int blocks,
                  const __grid_constant__ Dropout dropout) {
#if HAS_CLUSTERS
    constexpr int PACKS = VALUES / SIZE<T, Raw>;
    __shared__ Part parts[MOST_BLOCKS * SPREAD_WARPS];
    arrive_in_cluster();
    const int rank = rank_in_cluster(), packs = cols / SIZE<T, Raw>, warp = threadIdx.x / WARP;
    const unsigned index = blockIdx.x / blocks;
    const long long start = static_cast<long long>(index) * packs;
    const int lane = threadIdx.x % WARP, first = rank * PACKS * SPREAD_BLOCK + warp * WARP;  // of lane 0
    Share<T, Raw, PACKS, false> share = {first + lane, SPREAD_BLOCK, packs};
    share.load(x + start);
    if (threadIdx.x == 0) fetch_to_l2(residual + start, first, PACKS * SPREAD_BLOCK, packs);
    const Part part = share.part();
    await_cluster();  // none is written to that has not started
    if (lane < blocks) write_to(lane, parts + rank * SPREAD_WARPS + warp, part);
    __syncwarp();
    arrive_in_cluster();
    await_cluster();  // from here on nobody writes to another block, which may have ended
    const Row row = row_of_parts<WARP>(parts, blocks * SPREAD_WARPS, cols);
    const Bits<SIZE<T, Raw>, PACKS> kept(dropout, first, SPREAD_BLOCK, index);
    const auto addend = [&](int k) { return (residual + start)[share.pack(k)]; };
    share.store(out + start, gamma, beta, addend, row, part.mean, dropout.scale, kept);
#endif
}

template <typename Raw, typename Kernel>
cudaError_t by_lanes(Kernel kernel, const Call& call, int lanes) {
    const long long blocks = (call.rows - 1) / (SMALL_BLOCK / lanes) + 1;
    const cudaStream_t stream = call.stream;
    kernel<<<blocks, SMALL_BLOCK, 0, stream>>>(static_cast<const Raw*>(call.x), static_cast<const Raw*>(call.residual),
                                               static_cast<const Raw*>(call.gamma), static_cast<const Raw*>(call.beta),
                                               static_cast<Raw*>(call.out), call.rows, call.cols, call.dropout);
    return cudaGetLastError();
}

// BLOCK threads with VALUES each have room for a row; where it has as many columns nobody looks for its end.
template <typename T, typename Raw, int BLOCK, int VALUES>
cudaError_t by_block(const Call& call) {
    const auto kernel = call.cols == BLOCK * VALUES ? block_a_row<T, Raw, BLOCK, VALUES, true>
                                                    : block_a_row<T, Raw, BLOCK, VALUES, false>;
    const cudaStream_t stream = call.stream;
    kernel<<<call.rows, BLOCK, 0, stream>>>(static_cast<const Raw*>(call.x), static_cast<const Raw*>(call.residual),
                                            static_cast<const Raw*>(call.gamma), static_cast<const Raw*>(call.beta),
                                            static_cast<Raw*>(call.out), call.cols, call.dropout);
    return cudaGetLastError();
}

template <typename Raw, typename Kernel>
cudaError_t by_cluster(Kernel kernel, const Call& call, int blocks) {
    int device = 0, major = 0;
    cudaError_t status = cudaGetDevice(&device);
    if (status == cudaSuccess) status = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (status != cudaSuccess) return status;
    if (major < 9) return cudaErrorNotSupported;
    if (call.rows > INT_MAX / blocks) return cudaErrorInvalidValue;
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(static_cast<unsigned>(call.rows * blocks));
    config.blockDim = dim3(SPREAD_BLOCK);
    config.stream = call.stream;
    config.attrs = &cluster;
    config.numAttrs = 1;
    status =
        cudaLaunchKernelEx(&config, kernel, static_cast<const Raw*>(call.x), static_cast<const Raw*>(call.residual),
                           static_cast<const Raw*>(call.gamma), static_cast<const Raw*>(call.beta),
                           static_cast<Raw*>(call.out), call.cols, blocks, call.dropout);
    cudaGetLastError();  // has the same error once more, and would keep it for the next launch
    return status;
}

struct BySize {
    template <typename T, typename Raw>
    static cudaError_t by(const Call& call) {
        // An element an access takes registers for addresses: such rows have half the room in a cluster.
        constexpr int MOST = SIZE<T, Raw> == 1 ? 16 : 32;
        if (call.cols <= 8 * 8) return by_lanes<Raw>(rows_by_lanes<T, Raw, 8, 8>, call, 8);
        if (call.cols <= 16 * 16) return by_lanes<Raw>(rows_by_lanes<T, Raw, 16, 16>, call, 16);
        if (call.cols <= 32 * 32) return by_lanes<Raw>(rows_by_lanes<T, Raw, 32, 32>, call, 32);
        if (call.cols <= 256 * 8) return by_block<T, Raw, 256, 8>(call);
        if (call.cols <= 256 * 16) return by_block<T, Raw, 256, 16>(call);
        if (call.cols <= 256 * 32) return by_block<T, Raw, 256, 32>(call);
        if (call.cols <= 2 * SPREAD_BLOCK * 16) return by_cluster<Raw>(cluster_a_row<T, Raw, 16>, call, 2);
        for (int blocks = 2; blocks <= MOST_BLOCKS; blocks *= 2) {
            if (call.cols > blocks * SPREAD_BLOCK * MOST) continue;
            return by_cluster<Raw>(cluster_a_row<T, Raw, MOST>, call, blocks);
        }
        return a_block_a_row<T, Raw>(read_again<T, Raw>, call);
    }
};

extern "C" cudaError_t layernorm_dropout_residual(const void* x, const void* residual, const void* gamma,
                                                  const void* beta, void* out, long long rows, long long cols,
                                                  long long keep, long long seed, long long width,
                                                  cudaStream_t stream) {
    return launched<BySize>(x, residual, gamma, beta, out, rows, cols, keep, seed, width, stream);
}
