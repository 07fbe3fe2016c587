// Changes: a warp group makes powers of its next scores when the values of this tile have been added, and not beside
// that: it is the turn of another to keep the tensor cores busy.
//
// expected: `tensor-underfed`. 1.0 to 1.05 times v15: values are released earlier, and what the compiler moves across
//   the wait no longer matters.
// measured: on an H100, 2026-11-26: 0.794 ms at d128, 1.037 times v15; 1.001 at d128_causal, 1.008 and 1.013 at d64.
//   `tensor-underfed`, 1.22x; causal `redundant-traffic`, 1.43x.
#include "ahead.cuh"

template <class T>
__global__ void __launch_bounds__(T::THREADS, 1)
    attend(const __grid_constant__ Operands operands, const __grid_constant__ Attention a, const Grid grid,
           float factor) {
    attend_once<T>(operands, a, grid, [&](const T& tiles, Place place, int group, Progress& progress) {
        begin_turns<T>(group);
        consume<true, true, 0>(tiles, a, place, group, progress, factor);
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
