// Changes: the scores of the next tile are asked for before the values of this one are added, and their powers are made
// while the tensor cores are at the latter: products no longer wait for powers in between.
//
// expected: `tensor-underfed`. 1.05 to 1.15 times v12 at d128, less at d64, where powers take as long as products.
// measured: on an H100, 2026-11-26: 0.820 ms at d128, 1.092 times v12; 1.039 at d128_causal, 1.008 and 1.002 at d64.
//   `tensor-underfed`, 1.27x; causal `redundant-traffic`, 1.45x.
#include "ahead.cuh"

template <class T>
__global__ void __launch_bounds__(T::THREADS, 1)
    attend(const __grid_constant__ Operands operands, const __grid_constant__ Attention a, const Grid grid,
           float factor) {
    attend_once<T>(operands, a, grid, [&](const T& tiles, Place place, int group, Progress& progress) {
        consume<false, false, 0>(tiles, a, place, group, progress, factor);
    });
}

template <class T>
cudaError_t launch(const Attention& a, long long heads, cudaStream_t stream) {
    return launch<T>(attend<T>, a, heads, SECTION, LLONG_MAX, stream);
}

extern "C" cudaError_t flash_attention(const bf16* q, const bf16* k, const bf16* v, bf16* out, long long batch,
                                       long long heads, long long queries, long long keys, long long dim,
                                       long long causal, cudaStream_t stream) {
    return checked_launch(q, k, v, out, batch, heads, queries, keys, dim, causal, stream, launch<Tiles<64, 2>>,
                          launch<Tiles<128, 2>>);
}
