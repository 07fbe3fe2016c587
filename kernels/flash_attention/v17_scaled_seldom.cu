// Changes: sums are scaled only where a score is 2^8 above what counts as the maximum.
//
// expected: `tensor-underfed`. 1.03 to 1.06 times v16 at d128: 64 of some 450 instructions a tile and lane, which stand
//   between the end of one product and the start of the next. Powers up to 2^8 are as exact as those up to 1, except
//   the largest, which is no longer 1 exactly: 1.9e-3 in the norm for 1.7e-3.
// measured: on an H100, 2026-11-26: 0.781 ms at d128, 1.016 times v16; 1.007 at d128_causal, 1.005 and 1.001 at d64:
//   less than expected. `tensor-underfed`, 1.19x; causal `redundant-traffic`, 1.42x.
#include "ahead.cuh"

template <class T>
__global__ void __launch_bounds__(T::THREADS, 1)
    attend(const __grid_constant__ Operands operands, const __grid_constant__ Attention a, const Grid grid,
           float factor) {
    attend_once<T>(operands, a, grid, [&](const T& tiles, Place place, int group, Progress& progress) {
        begin_turns<T>(group);
        consume<true, true, SCALED_ABOVE>(tiles, a, place, group, progress, factor);
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
