// Changes: a third warp group does nothing but fill stages, through one thread, and gives its registers to the two that
// multiply. Keys and values are released by themselves, and a warp group runs ahead of the other as far as stages go.
//
// expected: `tensor-underfed`. 1.1 to 1.25 times v11: one group may multiply while the other makes powers.
// measured: on an H100, 2026-11-26: 0.895 ms at d128, 1.122 times v11; 1.085 at d128_causal, 1.113 and 1.091 at d64.
//   `tensor-underfed`, 1.43x; causal `redundant-traffic`, 1.52x.
#include "roles.cuh"

template <class T>
__device__ inline void consume(const T& tiles, const Attention& a, Place place, int group, Progress& progress,
                               float factor) {
    const int row = place.tile * T::ROWS + group * GROUP_ROWS, seen = a.seen_by(row), count = T::count(a, place);
    const auto keys = tiles.keys();
    const auto values = tiles.values();
    Sums<T::COLUMNS> result = {};
    Statistics rows;
    if (count > 0) await(tiles.queries_full(), progress.queries);
    for (int tile = count - 1; tile >= 0; --tile) {
        Sums<T::WIDE> scores;
        Powers<T::WIDE> powers;
        float before[2];
        keys.await_full(progress.keys);
        begin_products();
        multiply_keys<T::DIM>(scores, tiles.queries(group), keys.tile(progress.keys));
        await_products<0>();
        settle(scores);
        keys.release(progress.keys);
        if ((tile + 1) * T::KEYS > seen) mask(scores, a, row, tile * T::KEYS);
        rise<0>(scores, rows, before, factor);
        raise(scores, rows, factor);
        pack(powers, scores);
        scale(result, before);
        values.await_full(progress.values);
        begin_products();
        add_values<T::WIDE>(result, powers, values.tile(progress.values));
        await_products<0>();
        settle(result);
        values.release(progress.values);
    }
    write(a.head_of_out(place.head, T::DIM), result, rows, row, a.queries);
}

template <class T>
__global__ void __launch_bounds__(T::THREADS, 1)
    attend(const __grid_constant__ Operands operands, const __grid_constant__ Attention a, const Grid grid,
           float factor) {
    attend_once<T>(operands, a, grid, [&](const T& tiles, Place place, int group, Progress& progress) {
        consume(tiles, a, place, group, progress, factor);
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
