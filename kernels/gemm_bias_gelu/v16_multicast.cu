// Changes: two blocks, one below the other, are a cluster. Each fetches one half of their rows of weight for both by
// multicast, so that L2 is asked for 32 KB a stage and block instead of 48.
//
// expected: `at-compute-roofline`. L2 has a third less to deliver, which leaves power to the tensor cores: 1.00 to 1.03
//   times v15.
// measured: on an H200, 2026-11-26: 1.406 ms at square8k, 0.995 of v15. L2 counts 4 % more sectors, not a third less.
//   `near-ceiling`. With releases to the cluster as arrivals, a fence of the GPU's memory each, it was 0.70 of v15 in a
//   run by itself, not kept.
#include "anywhere.cuh"
#include "boxes.cuh"
#include "cluster.cuh"

constexpr int TILE_M = 128, TILE_N = 256, STAGES = 4;
constexpr int CONSUMERS = TILE_M / GROUP_ROWS, THREADS = (CONSUMERS + 1) * GROUP_THREADS;
constexpr int WARPS = CONSUMERS * GROUP_THREADS / WARP;  // that multiply
constexpr int GROUP = 8;  // rows of pairs of tiles
constexpr int WIDE = TILE_N / 8;
using Tiles = SharedRing<TILE_M, TILE_N, STAGES>;
constexpr int BOX_BYTES = WARPS * BOXES * BOX * sizeof(bf16), BYTES = Tiles::BYTES + BOX_BYTES + Tiles::BARRIER_BYTES;

// Of one block of the pair.
__device__ inline Place place_in(int pair, int rank, const Layer& layer) {
    const Place first = place_of<PAIR * TILE_M, TILE_N, GROUP>(pair, layer);
    return {first.row + rank * TILE_M, first.col};
}

__global__ void __cluster_dims__(PAIR, 1, 1) __launch_bounds__(THREADS, 1)
    gemm_multicast(const __grid_constant__ Operands operands, const __grid_constant__ CUtensorMap out,
                   const __grid_constant__ Layer layer, int pairs) {
    unsigned char* memory = dynamic_shared();
    const int group = threadIdx.x / GROUP_THREADS, warp = threadIdx.x / WARP, rank = blockIdx.x % PAIR;
    const int first_pair = blockIdx.x / PAIR, apart = gridDim.x / PAIR;
    const Tiles ring(reinterpret_cast<bf16*>(memory), reinterpret_cast<Barrier*>(memory + Tiles::BYTES + BOX_BYTES),
                     rank);

    if (threadIdx.x == 0) ring.make(PAIR * WARPS);
    meet_in_cluster();
    Turn turn;
    if (group == CONSUMERS) {
        keep_registers<PRODUCER_REGISTERS>();
        if (threadIdx.x % GROUP_THREADS == 0) {
            for (int pair = first_pair; pair < pairs; pair += apart) {
                produce(ring, turn, operands, place_in(pair, rank, layer), layer.k);
            }
        }
    } else {
        take_registers<CONSUMER_REGISTERS>();
        Boxes boxes = {reinterpret_cast<bf16*>(memory + Tiles::BYTES) + warp * BOXES * BOX};
        for (int pair = first_pair; pair < pairs; pair += apart) {
            const Place first = place_in(pair, rank, layer);
            const Biases<WIDE> biases(layer, first.col);
            Sums<1, WIDE> sums = {};
            consume(sums, ring, turn, group * GROUP_ROWS, layer.k);
            store_boxes<gelu>(sums, biases, boxes, out, first.row + warp * BOX_ROWS, first.col);
        }
        await_stores_read<0>();
    }
    meet_in_cluster();  // no block leaves while the other may still fill its stages or arrive at its barriers
}

extern "C" cudaError_t gemm_bias_gelu(const bf16* x, const bf16* weight, const bf16* bias, bf16* out, long long m,
                                      long long n, long long k, cudaStream_t stream) {
    const long long pairs = blocks_of<PAIR * TILE_M, TILE_N>(m, n, k);
    if (pairs <= 0) return pairs ? cudaErrorInvalidValue : cudaSuccess;
    const Layer layer = {x, weight, bias, out, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k)};
    if (!is_for_tma(layer)) return anywhere::launch(layer, stream);
    Operands operands;
    CUtensorMap out_map;
    int sms = 0;
    cudaError_t status = describe(&operands, layer, TILE_M, Tiles::HALF);
    if (status == cudaSuccess) status = describe(&out_map, out, layer.m, layer.n, BOX_ROWS);
    if (status == cudaSuccess) status = count_sms(&sms);
    if (status != cudaSuccess) return status;
    status = cudaFuncSetAttribute(gemm_multicast, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
    if (status != cudaSuccess) return status;
    const unsigned clusters = static_cast<unsigned>(pairs < sms / PAIR ? pairs : sms / PAIR);
    gemm_multicast<<<PAIR * clusters, THREADS, BYTES, stream>>>(operands, out_map, layer, static_cast<int>(pairs));
    return cudaGetLastError();
}
