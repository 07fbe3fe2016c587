// A tile of keys or values whose rows are swizzled: the c-th 16 bytes of row r lie where the (c ^ r % 8)-th would.
// Eight rows of one column, which make a matrix for ldmatrix, so have all 32 banks between them.
#pragma once
#include "fragments.cuh"

template <int SIZE>
struct Swizzled {
    static constexpr int DIM = SIZE;
    static constexpr int BYTES = KEYS * DIM * static_cast<int>(sizeof(bf16));

    __device__ static int place(int row, int chunk) { return row * DIM + (chunk ^ (row & 7)) * CHUNK; }

    // Two tiles of eight keys at once: matrices are their first and second eight elements, then those of the other.
    __device__ static void keys_of(unsigned (&pairs)[2][2], const bf16* keys, int n, int k) {
        const int lane = threadIdx.x % WARP, matrix = lane / 8;
        unsigned r[4];
        ldmatrix_x4(r, keys + place(n * COLS_A_MMA + matrix / 2 * 8 + lane % 8, 2 * k + matrix % 2));
        pairs[0][0] = r[0], pairs[0][1] = r[1], pairs[1][0] = r[2], pairs[1][1] = r[3];
    }

    // Two tiles of eight columns at once: matrices are their first and second eight keys, then those of the other.
    __device__ static void values_of(unsigned (&pairs)[2][2], const bf16* values, int n, int step) {
        const int lane = threadIdx.x % WARP, matrix = lane / 8;
        unsigned r[4];
        ldmatrix_x4_trans(r, values + place(step * K_A_MMA + matrix % 2 * 8 + lane % 8, n + matrix / 2));
        pairs[0][0] = r[0], pairs[0][1] = r[1], pairs[1][0] = r[2], pairs[1][1] = r[3];
    }

    // scores = q k^T
    __device__ static void multiply(Scores& scores, const Queries<DIM>& queries, const bf16* keys) {
#pragma unroll
        for (int k = 0; k < DIM / K_A_MMA; ++k) {
#pragma unroll
            for (int n = 0; n < KEYS / COLS_A_MMA; n += 2) {
                unsigned pairs[2][2];
                keys_of(pairs, keys, n, k);
                mma_m16n8k16(scores[n], queries[k], pairs[0]);
                mma_m16n8k16(scores[n + 1], queries[k], pairs[1]);
            }
        }
    }

    // result += powers v
    __device__ static void add(Result<DIM>& result, const Scores& scores, const bf16* values) {
#pragma unroll
        for (int step = 0; step < KEYS / K_A_MMA; ++step) {
            unsigned powers[4];
            pack(powers, scores, step);
#pragma unroll
            for (int n = 0; n < DIM / COLS_A_MMA; n += 2) {
                unsigned pairs[2][2];
                values_of(pairs, values, n, step);
                mma_m16n8k16(result[n], powers, pairs[0]);
                mma_m16n8k16(result[n + 1], powers, pairs[1]);
            }
        }
    }
};
