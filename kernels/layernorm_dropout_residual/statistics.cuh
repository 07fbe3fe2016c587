// Mean and variance of a row from those of its warps (Chan, Golub and LeVeque 1979): each warp takes differences to its
// own mean, so that the warps have to meet only once.
#pragma once
#include "shared_calls.cuh"

// Of a warp's or a team's columns: how many, their mean, the sum of squares of the differences to it.
struct alignas(16) Part {
    float count, mean, squares;
};

// A lane's share of a row: packs first + k * step of it. With FULL all of them are there.
template <typename T, typename Raw, int PACKS, bool FULL>
struct Share {
    int first, step, packs;            // packs: of the row
    float value[PACKS][SIZE<T, Raw>];  // x, later what it differs from the mean of its part

    __device__ int pack(int k) const { return first + k * step; }
    __device__ bool has(int k) const { return FULL || pack(k) < packs; }

    __device__ void load(const Raw* __restrict__ x) {
        load_each(x, [](int) {});
    }

    // Both at once. It looks for the row's end even where that is known: a branch is what keeps the compiler from
    // moving the loads of the residual behind the sums, where its values are used.
    __device__ void load(const Raw* __restrict__ x, const Raw* __restrict__ residual, Raw (&addend)[PACKS]) {
        load_each(x, [&](int k) { addend[k] = residual[pack(k)]; });
    }

    // A conversion in front of the branch that guards the next load waits for its own load. Where packs are single
    // elements, sixteen and more of them, all loads go out first.
    template <typename Also>
    __device__ void load_each(const Raw* __restrict__ x, const Also& also) {
        constexpr bool BEHIND = SIZE<T, Raw> == 1;
        Raw raw[PACKS] = {};
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            if (!BEHIND) unpack(Raw{}, value[k]);
        }
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            if (pack(k) >= packs) break;
            raw[k] = x[pack(k)];
            if (!BEHIND) unpack(raw[k], value[k]);
            also(k);
        }
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            if (BEHIND) unpack(raw[k], value[k]);
        }
    }

    template <int LANES = WARP>
    __device__ Part part() {
        float count = 0.0f, sum = 0.0f, squares = 0.0f;
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            count += has(k) ? SIZE<T, Raw> : 0;
            for (const float each : value[k]) sum += each;  // zeros where there are none
        }
        count = FULL ? PACKS * SIZE<T, Raw> * LANES : over_lanes<LANES>(count);
        const float mean = over_lanes<LANES>(sum) / fmaxf(count, 1.0f);
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            for (float& each : value[k]) {
                each = has(k) ? each - mean : 0.0f;
                squares += each * each;
            }
        }
        return {count, mean, over_lanes<LANES>(squares)};
    }

    // With `row` of the whole row, `mean` of the part; addend(k) is a pack of the residual.
    template <typename Addend, typename Kept>
    __device__ void store(Raw* __restrict__ out, const Raw* __restrict__ gamma, const Raw* __restrict__ beta,
                          const Addend& addend, Row row, float mean, float scale, const Kept& kept) const {
        const float shift = (mean - row.mean) * row.inverse;
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            if (!has(k)) break;
            float r[SIZE<T, Raw>], g[SIZE<T, Raw>], b[SIZE<T, Raw>];
            unpack(addend(k), r);
            unpack(gamma[pack(k)], g);
            unpack(beta[pack(k)], b);
#pragma unroll
            for (int n = 0; n < SIZE<T, Raw>; ++n) {
                const float y = fmaf(fmaf(value[k][n], row.inverse, shift), g[n], b[n]);
                if (kept.at(k, n)) r[n] = fmaf(y, scale, r[n]);
            }
            Raw raw;
            ::pack(r, raw);
            out[pack(k)] = raw;
        }
    }
};

// What a lane keeps: a bit an element.
template <int SIZE, int PACKS, int LANES = WARP>
struct Bits {
    unsigned bits;
    __device__ Bits(const Dropout& dropout, unsigned first, unsigned step, unsigned row)
        : bits(kept_of_lane<SIZE, PACKS, LANES>(dropout, first, step, row)) {}
    __device__ bool at(int k, int n) const { return bits >> (k * SIZE + n) & 1; }
};

// Where a pack has the draws of a call: the draws themselves, fewer instructions in more registers.
template <int SIZE, int PACKS, int LANES = WARP>
struct Kept : Bits<SIZE, PACKS, LANES> {
    using Bits<SIZE, PACKS, LANES>::Bits;
};
template <int PACKS, int LANES>
struct Kept<DRAWS, PACKS, LANES> {
    unsigned word[PACKS][DRAWS / 2], most;
    // A half is below keep where, as the upper one of a word, it is at most this; of keep 0 all are, but scale is 0.
    __device__ Kept(const Dropout& dropout, unsigned first, unsigned step, unsigned row)
        : most((dropout.keep << 16) - 1) {
#pragma unroll
        for (int k = 0; k < PACKS; ++k) call(dropout, first + k * step + threadIdx.x % LANES, row, word[k]);
    }
    __device__ bool at(int k, int n) const { return (n % 2 ? word[k][n / 2] : word[k][n / 2] << 16) <= most; }
};

// From the parts of all warps. Every lane of LANES brings one, or a sum of some about a common mean.
template <int LANES>
__device__ inline Row row_of_parts(const Part* parts, int count, int cols) {
    const int lane = threadIdx.x % LANES;
    const float origin = parts[0].mean;
    float sum = 0.0f, squares = 0.0f;
#pragma unroll 1
    for (int i = lane; i < count; i += LANES) sum += parts[i].count * (parts[i].mean - origin);
    const float mean = origin + __fdividef(over_lanes<LANES>(sum), cols);  // two units off, of a small difference
#pragma unroll 1
    for (int i = lane; i < count; i += LANES) {
        const float off = parts[i].mean - mean;
        squares += parts[i].squares + parts[i].count * off * off;
    }
    return {mean, rsqrtf(__fdividef(over_lanes<LANES>(squares), cols) + EPS)};
}
