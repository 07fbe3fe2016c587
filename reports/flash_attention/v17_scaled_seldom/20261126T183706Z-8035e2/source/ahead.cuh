// A warp group asks for the scores of the next tile before it adds the values of this one, so that products follow each
// other, and makes powers of the former beside the latter or after it.
#pragma once
#include "roles.cuh"

// Named barriers of the block, one a warp group; 0 is that of __syncthreads().
__device__ inline void meet_at(int barrier, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ inline void pass_on(int barrier, int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

constexpr int SCALED_ABOVE = 8;  // powers of two; a float has room for 2^8 a key

// Before the first place: the first warp group goes first.
template <class T>
__device__ inline void begin_turns(int group) {
    if (group == T::GROUPS - 1) pass_on(1, 2 * GROUP_THREADS);
}

// TURNS: warp groups issue products one after the other. LATER: powers are made when the values have been added.
// SELDOM: see rise().
template <bool TURNS, bool LATER, int SELDOM, class T>
__device__ inline void consume(const T& tiles, const Attention& a, Place place, int group, Progress& progress,
                               float factor) {
    const int row = place.tile * T::ROWS + group * GROUP_ROWS, seen = a.seen_by(row), count = T::count(a, place);
    const auto keys = tiles.keys();
    const auto values = tiles.values();
    const int own = 1 + group, next = 1 + (group + 1) % T::GROUPS;
    Sums<T::COLUMNS> result = {};
    Statistics rows;
    if (count > 0) {
        Sums<T::WIDE> scores;
        Powers<T::WIDE> powers;
        float before[2];
        await(tiles.queries_full(), progress.queries);
        progress.queries ^= 1;
        keys.await_full(progress.keys);
        begin_products();
        multiply_keys<T::DIM>(scores, tiles.queries(group), keys.tile(progress.keys));
        await_products<0>();
        settle(scores);
        keys.release(progress.keys);
        if (count * T::KEYS > seen) mask(scores, a, row, (count - 1) * T::KEYS);
        rise<SELDOM>(scores, rows, before, factor);
        raise(scores, rows, factor);
        pack(powers, scores);
        if (count > 1) keys.await_full(progress.keys);
        for (int tile = count - 2; tile >= 0; --tile) {
            if (TURNS) meet_at(own, 2 * GROUP_THREADS);
            begin_products();
            multiply_keys<T::DIM>(scores, tiles.queries(group), keys.tile(progress.keys));
            values.await_full(progress.values);
            begin_products();
            add_values<T::WIDE>(result, powers, values.tile(progress.values));
            if (TURNS) pass_on(next, 2 * GROUP_THREADS);
            await_products<1>();
            settle(scores);
            keys.release(progress.keys);
            if ((tile + 1) * T::KEYS > seen) mask(scores, a, row, tile * T::KEYS);
            const bool is_scaled = rise<SELDOM>(scores, rows, before, factor);
            if (!LATER) {
                raise(scores, rows, factor);
                settle(scores);
                settle(rows);
            }
            // A branch, here and not where these keys are needed: without one the compiler has the wait below first,
            // and makes powers when all products are done.
            if (tile > 0) keys.await_full(progress.keys);
            await_products<0>();
            settle(result);
            values.release(progress.values);
            if (LATER) raise(scores, rows, factor);
            pack(powers, scores);
            if (is_scaled) scale(result, before);
        }
        release_queries(tiles);
        values.await_full(progress.values);
        begin_products();
        add_values<T::WIDE>(result, powers, values.tile(progress.values));
        await_products<0>();
        settle(result);
        values.release(progress.values);
    }
    write(a.head_of_out(place.head, T::DIM), result, rows, row, a.queries);
}
