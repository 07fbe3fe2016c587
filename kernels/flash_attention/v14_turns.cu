// Changes: the two warp groups take turns. One issues its products when the other has issued its own, so that it makes
// powers while the other multiplies.
//
// expected: `tensor-underfed`. 1.0 to 1.1 times v13: whether groups fall into that rhythm by themselves is not known.
// measured: on an H100, 2026-11-26: 0.822 ms at d128, 0.997 of v13; 1.001 at d128_causal, 0.993 and 0.997 at d64: no
//   gain by itself. `tensor-underfed`, 1.28x; causal `redundant-traffic`, 1.46x.
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
    return checked_launch(q, k, v, out, batch, heads, queries, keys, dim, causal, stream, launch<Tiles<64, 2>>,
                          launch<Tiles<128, 2>>);
}
