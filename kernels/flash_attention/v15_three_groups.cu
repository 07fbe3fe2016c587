// Changes: where dim is 64, three warp groups for two: 192 queries a block.
//
// expected: `tensor-underfed`. At d64 1.1 to 1.25 times v14: three warps a scheduler for two, while one waits for its
//   products, or for its turn, two may make powers. 160 registers hold scores, powers and sums, which are 128. At d128
//   sums alone are 32 more, and it is as v14.
// measured: on an H100, 2026-11-26: 0.533 ms at d64, 1.196 times v14, 1.118 at d64_causal; 0.999 at d128. d128
//   `tensor-underfed`, 1.28x; causal `redundant-traffic`, 1.41x.
#include "ahead.cuh"

template <class T>
__global__ void __launch_bounds__(T::THREADS, 1)
    attend(const __grid_constant__ Operands operands, const __grid_constant__ Attention a, const Grid grid,
           float factor) {
    attend_once<T>(operands, a, grid, [&](const T& tiles, Place place, int group, Progress& progress) {
        begin_turns<T>(group);
        consume<true, false, 0>(tiles, a, place, group, progress, factor);
    });
}

template <class T>
cudaError_t launch(const Attention& a, long long heads, cudaStream_t stream) {
    return launch<T>(attend<T>, a, heads, SECTION, LLONG_MAX, stream);
}

extern "C" cudaError_t flash_attention(const bf16* q, const bf16* k, const bf16* v, bf16* out, long long batch,
                                       long long heads, long long queries, long long keys, long long dim,
                                       long long causal, cudaStream_t stream) {
    return checked_launch(q, k, v, out, batch, heads, queries, keys, dim, causal, stream, launch<Tiles<64, 3>>,
                          launch<Tiles<128, 2>>);
}
