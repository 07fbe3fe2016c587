// Changes: tiles of both operands in shared memory, 128 rows of 64 elements each, which eight warps share: a warp
// multiplies 64 x 32 outputs. Rows are padded by 16 bytes, so that eight of them lie in different banks.
//
// expected: `tensor-underfed`: 32 KB are loaded, then multiplied, with a barrier behind each, and only the other block
//   of the SM works meanwhile. A third of v4's loads from L2, none of them uncoalesced. 4 to 8 times v4, 0.22 to 0.38
//   of v1.
// measured: on an H200, 2026-11-26: 5.48 ms at square8k, 6.92 times v4, 0.253 of v1. `tensor-underfed`, 2.78x. A fifth
//   of v4's sectors from L2.
#include "layer.cuh"
#include "patch.cuh"

constexpr int WARPS_M = 2, WARPS_N = 4;
constexpr int WARPS = WARPS_M * WARPS_N, THREADS = WARPS * WARP;
constexpr int TILE_M = 128, TILE_N = 128, DEPTH = 64;
constexpr int STRIDE = DEPTH + CHUNK;
constexpr int BLOCKS_M = TILE_M / WARPS_M / SIDE, BLOCKS_N = TILE_N / WARPS_N / SIDE;  // of 16 x 16, a warp

template <int ROWS, bool ALIGNED>
__device__ inline void fill(bf16* tile, const bf16* matrix, int first, int rows, int k0, int k) {
    constexpr int CHUNKS = DEPTH / CHUNK, EACH = ROWS * CHUNKS / THREADS;
#pragma unroll(ALIGNED ? EACH : 1)
    for (int i = 0; i < EACH; ++i) {
        const int row = threadIdx.x / CHUNKS + i * (THREADS / CHUNKS), along = threadIdx.x % CHUNKS * CHUNK;
        *reinterpret_cast<uint4*>(tile + row * STRIDE + along) =
            chunk_at<ALIGNED>(matrix, first + row, rows, k0 + along, k);
    }
}

template <bool ALIGNED>
__global__ void __launch_bounds__(THREADS, 2) gemm_wmma_shared(Layer layer) {
    alignas(32) __shared__ bf16 tiles[(TILE_M + TILE_N) * STRIDE];
    static_assert(sizeof(tiles) >= WARPS * PATCH * sizeof(float), "patches come where tiles have been");
    bf16 *x_tile = tiles, *weight_tile = tiles + TILE_M * STRIDE;
    const int warp = threadIdx.x / WARP, tiles_n = (layer.n + TILE_N - 1) / TILE_N;
    const int first_row = blockIdx.x / tiles_n * TILE_M, first_col = blockIdx.x % tiles_n * TILE_N;
    const int row = warp / WARPS_N * BLOCKS_M * SIDE, col = warp % WARPS_N * BLOCKS_N * SIDE;  // in the tile

    FragmentSums sums[BLOCKS_M][BLOCKS_N];
#pragma unroll
    for (int i = 0; i < BLOCKS_M * BLOCKS_N; ++i) wmma::fill_fragment(sums[i / BLOCKS_N][i % BLOCKS_N], 0.0f);
    for (int k0 = 0; k0 < layer.k; k0 += DEPTH) {
        fill<TILE_M, ALIGNED>(x_tile, layer.x, first_row, layer.m, k0, layer.k);
        fill<TILE_N, ALIGNED>(weight_tile, layer.weight, first_col, layer.n, k0, layer.k);
        __syncthreads();
#pragma unroll
        for (int step = 0; step < DEPTH; step += SIDE) {
            FragmentX a[BLOCKS_M];
            FragmentWeight b[BLOCKS_N];
#pragma unroll
            for (int i = 0; i < BLOCKS_M; ++i) {
                wmma::load_matrix_sync(a[i], x_tile + (row + i * SIDE) * STRIDE + step, STRIDE);
            }
#pragma unroll
            for (int j = 0; j < BLOCKS_N; ++j) {
                wmma::load_matrix_sync(b[j], weight_tile + (col + j * SIDE) * STRIDE + step, STRIDE);
            }
#pragma unroll
            for (int i = 0; i < BLOCKS_M; ++i) {
#pragma unroll
                for (int j = 0; j < BLOCKS_N; ++j) wmma::mma_sync(sums[i][j], a[i], b[j], sums[i][j]);
            }
        }
        __syncthreads();
    }
    float* patch = reinterpret_cast<float*>(tiles) + warp * PATCH;
#pragma unroll
    for (int i = 0; i < BLOCKS_M; ++i) {
#pragma unroll
        for (int j = 0; j < BLOCKS_N; ++j) {
            finish(sums[i][j], patch, layer, first_row + row + i * SIDE, first_col + col + j * SIDE, ALIGNED);
        }
    }
}

extern "C" cudaError_t gemm_bias_gelu(const bf16* x, const bf16* weight, const bf16* bias, bf16* out, long long m,
                                      long long n, long long k, cudaStream_t stream) {
    const long long blocks = blocks_of<TILE_M, TILE_N>(m, n, k);
    if (blocks <= 0) return blocks ? cudaErrorInvalidValue : cudaSuccess;
    const Layer layer = {x, weight, bias, out, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k)};
    const auto kernel = is_aligned(layer, 16) ? gemm_wmma_shared<true> : gemm_wmma_shared<false>;
    kernel<<<static_cast<unsigned>(blocks), THREADS, 0, stream>>>(layer);
    return cudaGetLastError();
}
