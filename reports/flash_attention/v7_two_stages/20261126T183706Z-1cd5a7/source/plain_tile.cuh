// A tile of keys or values whose rows lie one after the other, and its operands by plain loads.
#pragma once
#include "fragments.cuh"

template <int SIZE>
struct Plain {
    static constexpr int DIM = SIZE;
    static constexpr int BYTES = KEYS * DIM * static_cast<int>(sizeof(bf16));

    // Where 16 bytes of a row lie.
    __device__ static int place(int row, int chunk) { return row * DIM + chunk * CHUNK; }

    // scores = q k^T: two neighbours of a row of k are two rows of a column of k^T.
    __device__ static void multiply(Scores& scores, const Queries<DIM>& queries, const bf16* keys) {
#pragma unroll
        for (int k = 0; k < DIM / K_A_MMA; ++k) {
#pragma unroll
            for (int n = 0; n < KEYS / COLS_A_MMA; ++n) {
                const bf16* row = keys + (n * COLS_A_MMA + group()) * DIM + k * K_A_MMA + 2 * of_group();
                const unsigned pairs[2] = {*reinterpret_cast<const unsigned*>(row),
                                           *reinterpret_cast<const unsigned*>(row + 8)};
                mma_m16n8k16(scores[n], queries[k], pairs);
            }
        }
    }

    // result += powers v: two rows of a column of v lie in two places.
    __device__ static void add(Result<DIM>& result, const Scores& scores, const bf16* values) {
#pragma unroll
        for (int step = 0; step < KEYS / K_A_MMA; ++step) {
            unsigned powers[4];
            pack(powers, scores, step);
#pragma unroll
            for (int n = 0; n < DIM / COLS_A_MMA; ++n) {
                const bf16* column = values + (step * K_A_MMA + 2 * of_group()) * DIM + n * COLS_A_MMA + group();
                const unsigned pairs[2] = {pair(column), pair(column + 8 * DIM)};
                mma_m16n8k16(result[n], powers, pairs);
            }
        }
    }

    __device__ static unsigned pair(const bf16* upper) {
        const unsigned short* halves = reinterpret_cast<const unsigned short*>(upper);
        return halves[0] | static_cast<unsigned>(halves[DIM]) << 16;
    }
};
