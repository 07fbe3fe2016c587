// One call of Philox for eight elements, whoever has them.
#pragma once
#include "drawn.cuh"

// Which elements of its PACKS packs a lane keeps: bits SIZE * k and up are those of pack first + k * step + lane, where
// `first` and `step` are multiples of LANES. The lanes divide the calls among themselves and exchange the bits.
template <int SIZE, int PACKS, int LANES = WARP>
__device__ inline unsigned kept_of_lane(const Dropout& dropout, unsigned first, unsigned step, unsigned row) {
    constexpr int CALLS = SIZE * PACKS / DRAWS, AT_A_TIME = LANES * SIZE / DRAWS;  // of a lane; for a pack of all lanes
    static_assert(SIZE * PACKS % DRAWS == 0 && CALLS <= 4, "a byte a call");
    const unsigned lane = threadIdx.x % LANES;
    unsigned mine = 0;
#pragma unroll
    for (int n = 0; n < CALLS; ++n) {
        const unsigned place = n * LANES + lane, k = place / AT_A_TIME;
        const unsigned group = (first + k * step) * SIZE / DRAWS + place % AT_A_TIME;
        mine |= kept_of(dropout, group, row) << n * DRAWS;
    }
    if (SIZE == DRAWS) return mine;
    unsigned kept = 0;
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        const unsigned place = k * AT_A_TIME + lane * SIZE / DRAWS;
        const unsigned theirs = __shfl_sync(ALL_LANES, mine, place % LANES, LANES);
        kept |= (theirs >> (k * AT_A_TIME / LANES * DRAWS + lane * SIZE % DRAWS) & ((1u << SIZE) - 1)) << k * SIZE;
    }
    return kept;
}
