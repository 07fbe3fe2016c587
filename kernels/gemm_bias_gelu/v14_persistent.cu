// Changes: as many blocks as there are SMs, each of which computes one tile after the other. The producer fills stages
// with the next tile while the sums of this one are finished, and a launch starts each SM once.
//
// expected: `at-compute-roofline`. The first tiles of k of the next block, 1 to 2 us of each of the 16 waves of 90 us:
//   1.01 to 1.02 times v13, twice that at wide and square4k, where k is half as long.
// measured: on an H200, 2026-11-26: 1.432 ms at square8k, 1.011 times v13, 1.025 at wide, 1.024 at square4k.
//   `tensor-underfed`, 1.047x.
#include "anywhere.cuh"
#include "roles.cuh"

constexpr int TILE_M = 128, TILE_N = 256, STAGES = 4;
constexpr int CONSUMERS = TILE_M / GROUP_ROWS, THREADS = (CONSUMERS + 1) * GROUP_THREADS;
constexpr int GROUP = 16;  // rows of tiles
constexpr int WIDE = TILE_N / 8;
using Tiles = Ring<TILE_M, TILE_N, STAGES>;

__global__ void __launch_bounds__(THREADS, 1)
    gemm_persistent(const __grid_constant__ Operands operands, const __grid_constant__ Layer layer, int tiles) {
    unsigned char* memory = dynamic_shared();
    const Tiles ring = {reinterpret_cast<bf16*>(memory), reinterpret_cast<Barrier*>(memory + Tiles::BYTES)};
    const int group = threadIdx.x / GROUP_THREADS;

    if (threadIdx.x == 0) ring.make(CONSUMERS * GROUP_THREADS / WARP);
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
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const Place first = place_of<TILE_M, TILE_N, GROUP>(tile, layer);
            Sums<1, WIDE> sums = {};
            consume(sums, ring, turn, group * GROUP_ROWS, layer.k);
            finish<true>(sums, layer, first.row + threadIdx.x / WARP * 16, first.col);
        }
    }
}

extern "C" cudaError_t gemm_bias_gelu(const bf16* x, const bf16* weight, const bf16* bias, bf16* out, long long m,
                                      long long n, long long k, cudaStream_t stream) {
    constexpr int BYTES = Tiles::BYTES + Tiles::BARRIER_BYTES;
    const long long tiles = blocks_of<TILE_M, TILE_N>(m, n, k);
    if (tiles <= 0) return tiles ? cudaErrorInvalidValue : cudaSuccess;
    const Layer layer = {x, weight, bias, out, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k)};
    if (!is_for_tma(layer)) return anywhere::launch(layer, stream);
    Operands operands;
    int sms = 0;
    cudaError_t status = describe(&operands, layer, TILE_M, TILE_N);
    if (status == cudaSuccess) status = count_sms(&sms);
    if (status != cudaSuccess) return status;
    status = cudaFuncSetAttribute(gemm_persistent, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
    if (status != cudaSuccess) return status;
    const unsigned blocks = static_cast<unsigned>(tiles < sms ? tiles : sms);
    gemm_persistent<<<blocks, THREADS, BYTES, stream>>>(operands, layer, static_cast<int>(tiles));
    return cudaGetLastError();
}
