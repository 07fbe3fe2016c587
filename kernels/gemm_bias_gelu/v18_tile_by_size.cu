// Changes: tiles are 256, 192, 128 or 64 columns wide, whichever is done first. A last wave that is nearly empty costs
// a whole one: at few_rows 192 tiles of 256 columns take 132 SMs two waves, as 256 tiles of 192 do.
//
// expected: `at-compute-roofline`; at few_rows `tensor-underfed`, 1.3 times v17: two waves of 192 columns instead of
//   two of 256. At square8k 21 waves of 192 are 1.6 % fewer columns than 16 of 256.
// measured: on an H200, 2026-11-26: 55.6 us at few_rows, 1.297 times v17 and 1.038 of v1; 1.631 times v17 at small. At
//   square8k 1.2 % fewer cycles and 0.9 % more time: the clock falls. `at-compute-roofline`; few_rows
//   `tensor-underfed`, 1.09x.
#include <algorithm>

#include "anywhere.cuh"
#include "boxes.cuh"
#include "cluster.cuh"
#include "tanh.cuh"

constexpr int TILE_M = 128, STAGE_SPACE = 192 * 1024;
constexpr int CONSUMERS = TILE_M / GROUP_ROWS, THREADS = (CONSUMERS + 1) * GROUP_THREADS;
constexpr int WARPS = CONSUMERS * GROUP_THREADS / WARP;  // that multiply
constexpr int GROUP = 8;  // rows of pairs of tiles
constexpr int BOX_BYTES = WARPS * BOXES * BOX * sizeof(bf16);

// As many stages as there is room for.
template <int TILE_N>
using Tiles = SharedRing<TILE_M, TILE_N, STAGE_SPACE / ((TILE_M + TILE_N) * DEPTH * static_cast<int>(sizeof(bf16)))>;

// Of one block of the pair.
template <int TILE_N>
__device__ inline Place place_in(int pair, int rank, const Layer& layer) {
    const Place first = place_of<PAIR * TILE_M, TILE_N, GROUP>(pair, layer);
    return {first.row + rank * TILE_M, first.col};
}

template <int TILE_N>
__global__ void __cluster_dims__(PAIR, 1, 1) __launch_bounds__(THREADS, 1)
    gemm_tile_by_size(const __grid_constant__ Operands operands, const __grid_constant__ CUtensorMap out,
                      const __grid_constant__ Layer layer, int pairs) {
    unsigned char* memory = dynamic_shared();
    const int group = threadIdx.x / GROUP_THREADS, warp = threadIdx.x / WARP, rank = blockIdx.x % PAIR;
    const int first_pair = blockIdx.x / PAIR, apart = gridDim.x / PAIR;
    unsigned char* behind = memory + Tiles<TILE_N>::BYTES;
    const Tiles<TILE_N> ring(reinterpret_cast<bf16*>(memory), reinterpret_cast<Barrier*>(behind + BOX_BYTES), rank);

    if (threadIdx.x == 0) ring.make(PAIR * WARPS);
    meet_in_cluster();
    Turn turn;
    if (group == CONSUMERS) {
        keep_registers<PRODUCER_REGISTERS>();
        if (threadIdx.x % GROUP_THREADS == 0) {
            for (int pair = first_pair; pair < pairs; pair += apart) {
                produce(ring, turn, operands, place_in<TILE_N>(pair, rank, layer), layer.k);
            }
        }
    } else {
        take_registers<CONSUMER_REGISTERS>();
        Boxes boxes = {reinterpret_cast<bf16*>(behind) + warp * BOXES * BOX};
        for (int pair = first_pair; pair < pairs; pair += apart) {
            const Place first = place_in<TILE_N>(pair, rank, layer);
            const Biases<TILE_N / 8> biases(layer, first.col);
            Sums<1, TILE_N / 8> sums = {};
            consume(sums, ring, turn, group * GROUP_ROWS, layer.k);
            store_boxes<gelu_by_tanh>(sums, biases, boxes, out, first.row + warp * BOX_ROWS, first.col);
        }
        await_stores_read<0>();
    }
    meet_in_cluster();  // no block leaves while the other may still fill its stages or arrive at its barriers
}

// What all waves take, in columns. A tile costs 8 more than it has: of as many in all, tiles of 128 took 1 to 3 % more
// time than tiles of 256.
template <int TILE_N>
long long cost_of(const Layer& layer, int clusters) {
    const long long pairs = blocks_of<PAIR * TILE_M, TILE_N>(layer.m, layer.n, layer.k);
    return (pairs + clusters - 1) / clusters * (TILE_N + 8);
}

template <int TILE_N>
cudaError_t launch(const Layer& layer, int clusters, cudaStream_t stream) {
    constexpr int BYTES = Tiles<TILE_N>::BYTES + BOX_BYTES + Tiles<TILE_N>::BARRIER_BYTES;
    const int pairs = static_cast<int>(blocks_of<PAIR * TILE_M, TILE_N>(layer.m, layer.n, layer.k));
    Operands operands;
    CUtensorMap out;
    cudaError_t status = describe(&operands, layer, TILE_M, Tiles<TILE_N>::HALF);
    if (status == cudaSuccess) status = describe(&out, layer.out, layer.m, layer.n, BOX_ROWS);
    if (status != cudaSuccess) return status;
    const auto kernel = gemm_tile_by_size<TILE_N>;
    status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
    if (status != cudaSuccess) return status;
    const unsigned blocks = PAIR * static_cast<unsigned>(pairs < clusters ? pairs : clusters);
    kernel<<<blocks, THREADS, BYTES, stream>>>(operands, out, layer, pairs);
    return cudaGetLastError();
}

extern "C" cudaError_t gemm_bias_gelu(const bf16* x, const bf16* weight, const bf16* bias, bf16* out, long long m,
                                      long long n, long long k, cudaStream_t stream) {
    const long long most = blocks_of<PAIR * TILE_M, 64>(m, n, k);
    if (most <= 0) return most ? cudaErrorInvalidValue : cudaSuccess;
    const Layer layer = {x, weight, bias, out, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k)};
    if (!is_for_tma(layer)) return anywhere::launch(layer, stream);
    int sms = 0;
    const cudaError_t status = count_sms(&sms);
    if (status != cudaSuccess) return status;
    const int clusters = sms / PAIR;
    const long long costs[] = {cost_of<256>(layer, clusters), cost_of<192>(layer, clusters),
                               cost_of<128>(layer, clusters), cost_of<64>(layer, clusters)};
    const long long least = *std::min_element(costs, costs + 4);
    if (costs[0] == least) return launch<256>(layer, clusters, stream);
    if (costs[1] == least) return launch<192>(layer, clusters, stream);
    if (costs[2] == least) return launch<128>(layer, clusters, stream);
    return launch<64>(layer, clusters, stream);
}
