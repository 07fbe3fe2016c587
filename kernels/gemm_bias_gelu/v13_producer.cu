// Changes: a third warp group does nothing but fill stages, through one thread, and gives its registers to the two that
// multiply. Each of those runs as far ahead of the other as there are stages: no barrier of the block in the loop.
//
// expected: `tensor-underfed` or `at-compute-roofline`. v12's eight warps meet once a tile while products of 1024
//   cycles are under way: 1.02 to 1.08 times v12.
// measured: on an H200, 2026-11-26: 1.448 ms at square8k, 0.996 of v12: that barrier was not what was waited for.
//   `tensor-underfed`, 1.049x.
#include "anywhere.cuh"
#include "roles.cuh"

constexpr int TILE_M = 128, TILE_N = 256, STAGES = 4;
constexpr int CONSUMERS = TILE_M / GROUP_ROWS, THREADS = (CONSUMERS + 1) * GROUP_THREADS;
constexpr int GROUP = 16;  // rows of tiles
constexpr int WIDE = TILE_N / 8;
using Tiles = Ring<TILE_M, TILE_N, STAGES>;

__global__ void __launch_bounds__(THREADS, 1)
    gemm_producer(const __grid_constant__ Operands operands, const __grid_constant__ Layer layer) {
    unsigned char* memory = dynamic_shared();
    const Tiles ring = {reinterpret_cast<bf16*>(memory), reinterpret_cast<Barrier*>(memory + Tiles::BYTES)};
    const int group = threadIdx.x / GROUP_THREADS;
    const Place first = place_of<TILE_M, TILE_N, GROUP>(blockIdx.x, layer);

    if (threadIdx.x == 0) ring.make(CONSUMERS * GROUP_THREADS / WARP);
    __syncthreads();
    Turn turn;
    if (group == CONSUMERS) {
        keep_registers<PRODUCER_REGISTERS>();
        if (threadIdx.x % GROUP_THREADS == 0) produce(ring, turn, operands, first, layer.k);
    } else {
        take_registers<CONSUMER_REGISTERS>();
        Sums<1, WIDE> sums = {};
        consume(sums, ring, turn, group * GROUP_ROWS, layer.k);
        finish<true>(sums, layer, first.row + threadIdx.x / WARP * 16, first.col);
    }
}

extern "C" cudaError_t gemm_bias_gelu(const bf16* x, const bf16* weight, const bf16* bias, bf16* out, long long m,
                                      long long n, long long k, cudaStream_t stream) {
    constexpr int BYTES = Tiles::BYTES + Tiles::BARRIER_BYTES;
    const long long blocks = blocks_of<TILE_M, TILE_N>(m, n, k);
    if (blocks <= 0) return blocks ? cudaErrorInvalidValue : cudaSuccess;
    const Layer layer = {x, weight, bias, out, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k)};
    if (!is_for_tma(layer)) return anywhere::launch(layer, stream);
    Operands operands;
    cudaError_t status = describe(&operands, layer, TILE_M, TILE_N);
    if (status != cudaSuccess) return status;
    status = cudaFuncSetAttribute(gemm_producer, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
    if (status != cudaSuccess) return status;
    gemm_producer<<<static_cast<unsigned>(blocks), THREADS, BYTES, stream>>>(operands, layer);
    return cudaGetLastError();
}
