// Changes: one CUDA kernel on tensor cores, through wmma. A warp a tile of 16 x 16 outputs, operands straight from
// global memory; eight warps, 64 x 32 outputs, a block.
// parent: none
//
// expected: `tensor-underfed`: a warp loads 1 KB for one product of 16 x 16 x 16, in pieces of 16 bytes a row, and
//   waits for it each time. L1 serves the warps of a block that share rows. 0.04 to 0.08 of v1. A piece is half of a
//   sector: `uncoalesced-global-load` may come first.
// measured: on an H200, 2026-11-26: 38.1 ms at square8k, 0.036 of v1. `tensor-underfed`, 2.07x;
//   `uncoalesced-global-load` second, 2.00x. L1's data pipe is 99 % busy.
#include "layer.cuh"
#include "patch.cuh"

constexpr int WARPS_M = 4, WARPS_N = 2;
constexpr int WARPS = WARPS_M * WARPS_N, THREADS = WARPS * WARP;
constexpr int TILE_M = WARPS_M * SIDE, TILE_N = WARPS_N * SIDE;

// 16 x 16 elements of a matrix with zeros around it.
__device__ inline void copy_edge(bf16* to, const bf16* matrix, int row, int rows, int col, int cols) {
    const int lane = threadIdx.x % WARP, along = lane % 2 * CHUNK;
    __syncwarp();  // the last one has been loaded
    *reinterpret_cast<uint4*>(to + lane * CHUNK) =
        chunk_at<false>(matrix, row + lane / 2, rows, col + along, cols);
    __syncwarp();
}

__global__ void __launch_bounds__(THREADS) gemm_wmma_global(Layer layer, bool aligned) {
    alignas(32) __shared__ bf16 edges[WARPS][SIDE * SIDE];  // what wmma cannot load from where it is
    alignas(32) __shared__ float patches[WARPS][PATCH];
    const int warp = threadIdx.x / WARP, tiles_n = (layer.n + TILE_N - 1) / TILE_N;
    const int row = blockIdx.x / tiles_n * TILE_M + warp / WARPS_N * SIDE;
    const int col = blockIdx.x % tiles_n * TILE_N + warp % WARPS_N * SIDE;
    if (row >= layer.m || col >= layer.n) return;

    const bool loads_x = aligned && row + SIDE <= layer.m, loads_weight = aligned && col + SIDE <= layer.n;
    const bf16* x = layer.x + static_cast<long long>(row) * layer.k;
    const bf16* weight = layer.weight + static_cast<long long>(col) * layer.k;
    FragmentX a;
    FragmentWeight b;
    FragmentSums sums;
    wmma::fill_fragment(sums, 0.0f);
    for (int k0 = 0; k0 < layer.k; k0 += SIDE) {
        const bool whole = k0 + SIDE <= layer.k;
        if (loads_x && whole) {
            wmma::load_matrix_sync(a, x + k0, layer.k);
        } else {
            copy_edge(edges[warp], layer.x, row, layer.m, k0, layer.k);
            wmma::load_matrix_sync(a, edges[warp], SIDE);
        }
        if (loads_weight && whole) {
            wmma::load_matrix_sync(b, weight + k0, layer.k);
        } else {
            copy_edge(edges[warp], layer.weight, col, layer.n, k0, layer.k);
            wmma::load_matrix_sync(b, edges[warp], SIDE);
        }
        wmma::mma_sync(sums, a, b, sums);
    }
    finish(sums, patches[warp], layer, row, col, aligned);
}

extern "C" cudaError_t gemm_bias_gelu(const bf16* x, const bf16* weight, const bf16* bias, bf16* out, long long m,
                                      long long n, long long k, cudaStream_t stream) {
    const long long blocks = blocks_of<TILE_M, TILE_N>(m, n, k);
    if (blocks <= 0) return blocks ? cudaErrorInvalidValue : cudaSuccess;
    const Layer layer = {x, weight, bias, out, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k)};
    gemm_wmma_global<<<static_cast<unsigned>(blocks), THREADS, 0, stream>>>(layer, is_aligned(layer, 32));
    return cudaGetLastError();
}
