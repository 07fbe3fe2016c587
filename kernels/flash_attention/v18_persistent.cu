// Changes: one block an SM stays there and takes the next place when it has done with one: tiles of the next place come
// while values of the last are added and results written. The order is as it was, the longest first.
//
// expected: `tensor-underfed`. Without a mask 1.02 to 1.04 times v17: 2 of 50 us a block are waits for the first tiles.
//   Causal 1.05 to 1.1, as blocks are half as long.
// measured: on an H100, 2026-11-26: 0.763 ms at d128, 721 TFLOP/s, 1.024 times v17; 1.041 at d128_causal, 1.003 and
//   1.036 at d64. `tensor-underfed`, 1.15x; causal `redundant-traffic`, 1.38x.
#include "queue.cuh"

template <class T>
cudaError_t launch(const Attention& a, long long heads, cudaStream_t stream) {
    return launch_queue<Queued<T>>(a, heads, SECTION, stream);
}

extern "C" cudaError_t flash_attention(const bf16* q, const bf16* k, const bf16* v, bf16* out, long long batch,
                                       long long heads, long long queries, long long keys, long long dim,
                                       long long causal, cudaStream_t stream) {
    return checked_launch(q, k, v, out, batch, heads, queries, keys, dim, causal, stream, launch<Tiles<64, 3>>,
                          launch<Tiles<128, 2>>);
}
