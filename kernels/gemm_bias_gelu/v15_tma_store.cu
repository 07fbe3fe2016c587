// Changes: outputs leave through shared memory. A warp rounds 64 columns of its rows into a box, which TMA stores while
// the warp fills the other one or multiplies the next tile. The bias waits in registers since before the products.
//
// expected: `at-compute-roofline`. A warp's stores by lanes go to eight rows each, and its loads of the bias are waited
//   for behind the products: of the 3 % of the time in which sums become outputs a half, 1.01 to 1.02 times v14.
// measured: on an H200, 2026-11-26: 1.399 ms at square8k, 1.023 times v14, 1.053 at wide, 1.067 at square4k; 0.989,
//   1.011 and 1.000 of v1. Tensor cores are 95 % busy instead of 91. `at-compute-roofline`; few_rows `tensor-underfed`,
//   1.49x.
#include "anywhere.cuh"
#include "boxes.cuh"

constexpr int TILE_M = 128, TILE_N = 256, STAGES = 4;
constexpr int CONSUMERS = TILE_M / GROUP_ROWS, THREADS = (CONSUMERS + 1) * GROUP_THREADS;
constexpr int WARPS = CONSUMERS * GROUP_THREADS / WARP;  // that multiply
constexpr int GROUP = 16;  // rows of tiles
constexpr int WIDE = TILE_N / 8;
using Tiles = Ring<TILE_M, TILE_N, STAGES>;
constexpr int BOX_BYTES = WARPS * BOXES * BOX * sizeof(bf16), BYTES = Tiles::BYTES + BOX_BYTES + Tiles::BARRIER_BYTES;

__global__ void __launch_bounds__(THREADS, 1)
    gemm_tma_store(const __grid_constant__ Operands operands, const __grid_constant__ CUtensorMap out,
                   const __grid_constant__ Layer layer, int tiles) {
    unsigned char* memory = dynamic_shared();
    const Tiles ring = {reinterpret_cast<bf16*>(memory), reinterpret_cast<Barrier*>(memory + Tiles::BYTES + BOX_BYTES)};
    const int group = threadIdx.x / GROUP_THREADS, warp = threadIdx.x / WARP;

    if (threadIdx.x == 0) ring.make(WARPS);
    __syncthreads();
    Turn turn;
    if (group == CONSUMERS) {
        keep_registers<PRODUCER_REGISTERS>();
        if (threadIdx.x % GROUP_THREADS != 0) return;
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            produce(ring, turn, operands, place_of<TILE_M, TILE_N, GROUP>(tile, layer), layer.k);
        }
    } else {
        take_registers<CONSUMER_REGISTERS>();
        Boxes boxes = {reinterpret_cast<bf16*>(memory + Tiles::BYTES) + warp * BOXES * BOX};
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const Place first = place_of<TILE_M, TILE_N, GROUP>(tile, layer);
            const Biases<WIDE> biases(layer, first.col);
            Sums<1, WIDE> sums = {};
            consume(sums, ring, turn, group * GROUP_ROWS, layer.k);
            store_boxes<gelu>(sums, biases, boxes, out, first.row + warp * BOX_ROWS, first.col);
        }
        await_stores_read<0>();
    }
}

extern "C" cudaError_t gemm_bias_gelu(const bf16* x, const bf16* weight, const bf16* bias, bf16* out, long long m,
                                      long long n, long long k, cudaStream_t stream) {
    const long long tiles = blocks_of<TILE_M, TILE_N>(m, n, k);
    if (tiles <= 0) return tiles ? cudaErrorInvalidValue : cudaSuccess;
    const Layer layer = {x, weight, bias, out, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k)};
    if (!is_for_tma(layer)) return anywhere::launch(layer, stream);
    Operands operands;
    CUtensorMap out_map;
    int sms = 0;
    cudaError_t status = describe(&operands, layer, TILE_M, TILE_N);
    if (status == cudaSuccess) status = describe(&out_map, out, layer.m, layer.n, BOX_ROWS);
    if (status == cudaSuccess) status = count_sms(&sms);
    if (status != cudaSuccess) return status;
    status = cudaFuncSetAttribute(gemm_tma_store, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
    if (status != cudaSuccess) return status;
    const unsigned blocks = static_cast<unsigned>(tiles < sms ? tiles : sms);
    gemm_tma_store<<<blocks, THREADS, BYTES, stream>>>(operands, out_map, layer, static_cast<int>(tiles));
    return cudaGetLastError();
}
