// Changes: causal, as many heads go together as have keys and values of 32 MB, so that these stay in L2 until their
// last block.
//
// expected: `tensor-underfed`. At d128_causal 1.0 to 1.05 times v18, which reads keys and values of 64 heads, 134 MB,
//   for every two rows of tiles: some 1 GB in all, 2.3 TB/s. Without a mask as v18.
// measured: on an H100, 2026-11-26: 0.419 ms at d128_causal, 656 TFLOP/s, 1.164 times v18, more than expected; as v18
//   elsewhere. 1.121 times v2 at d128, 1.242 causal, 1.121 and 1.148 at d64. `tensor-underfed`, 1.15x, causal 1.20x.
#include "queue.cuh"

constexpr long long IN_L2 = 32 << 20;

template <class T>
cudaError_t launch(const Attention& a, long long heads, cudaStream_t stream) {
    const long long of_head = 2ll * std::max(a.keys, 1) * T::DIM * ELEMENT;
    return launch_queue<Queued<T>>(a, heads, std::max(IN_L2 / of_head, 1ll), stream);
}

extern "C" cudaError_t flash_attention(const bf16* q, const bf16* k, const bf16* v, bf16* out, long long batch,
                                       long long heads, long long queries, long long keys, long long dim,
                                       long long causal, cudaStream_t stream) {
    return checked_launch(q, k, v, out, batch, heads, queries, keys, dim, causal, stream, launch<Tiles<64, 3>>,
                          launch<Tiles<128, 2>>);
}
