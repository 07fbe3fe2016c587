// A warp's part of a tile on tensor cores whose layouts are known: loads from a swizzled tile, products, and the
// epilogue on the sums in registers.
#pragma once
#include "layer.cuh"
#include "mma.cuh"

constexpr int DEPTH = 64;  // of a tile along k: a row of it is 128 bytes, all banks once
constexpr int STEP = 16;  // of one product along k
constexpr int STEPS = DEPTH / STEP;
constexpr int CHUNKS = DEPTH / CHUNK;  // a row
constexpr unsigned ALL_LANES = 0xffffffff;

// Chunk c of row r lies where chunk c ^ (r % 8) would: a chunk of eight rows, as ldmatrix takes it, is in eight
// different groups of four banks, and so are the eight chunks of a row, as they are written.
__device__ inline bf16* place(bf16* tile, int row, int chunk) {
    return tile + row * DEPTH + (chunk ^ row % 8) * CHUNK;
}

// TALL blocks of 16 rows of x, WIDE blocks of 8 rows of weight, which are columns of out.
template <int TALL, int WIDE>
struct Fragments {
    unsigned a[TALL][4];
    unsigned b[WIDE / 2][4];  // two blocks each: both halves along k of the one, then of the other
};

template <int TALL, int WIDE>
struct Sums {
    float of[TALL][WIDE][4];
};

template <int TALL, int WIDE>
__device__ inline void load(Fragments<TALL, WIDE>& f, bf16* x_tile, bf16* weight_tile, int row, int col, int step) {
    const int lane = threadIdx.x % WARP, chunk = step * STEP / CHUNK;
#pragma unroll
    for (int i = 0; i < TALL; ++i) ldmatrix_x4(f.a[i], place(x_tile, row + 16 * i + lane % 16, chunk + lane / 16));
#pragma unroll
    for (int j = 0; j < WIDE / 2; ++j) {
        ldmatrix_x4(f.b[j], place(weight_tile, col + 16 * j + lane / 16 * 8 + lane % 8, chunk + lane / 8 % 2));
    }
}

template <int TALL, int WIDE>
__device__ inline void multiply(Sums<TALL, WIDE>& sums, const Fragments<TALL, WIDE>& f) {
#pragma unroll
    for (int i = 0; i < TALL; ++i) {
#pragma unroll
        for (int j = 0; j < WIDE; ++j) {
            const unsigned* b = f.b[j / 2] + j % 2 * 2;
            mma_m16n8k16(sums.of[i][j], f.a[i], b[0], b[1]);
        }
    }
}

__device__ inline unsigned packed(float low, float high) {
    return __bfloat16_as_ushort(__float2bfloat16_rn(low)) |
           static_cast<unsigned>(__bfloat16_as_ushort(__float2bfloat16_rn(high))) << 16;
}

// Word i of lane t of four neighbours goes to lane i as word t.
__device__ inline void transpose_among_four(unsigned (&words)[4]) {
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int apart = 1; apart <= 2; apart *= 2) {
        const bool upper = t & apart;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            unsigned &low = words[apart == 1 ? 2 * i : i], &high = words[apart == 1 ? 2 * i + 1 : i + 2];
            const unsigned got = __shfl_xor_sync(ALL_LANES, upper ? low : high, apart);
            if (upper) low = got;
            else high = got;
        }
    }
}

// Adds the bias of each column, applies GELU, and writes. Four lanes have two columns each of four blocks of eight:
// after a transposition each has a block of its own, 16 bytes. ALIGNED: rows of out start on 16 bytes.
template <bool ALIGNED, int TALL, int WIDE>
__device__ inline void finish(const Sums<TALL, WIDE>& sums, const Layer& layer, int row, int col) {
    static_assert(WIDE % 4 == 0, "a block a lane");
    const int t = threadIdx.x % 4;
    row += threadIdx.x % WARP / 4;
#pragma unroll
    for (int group = 0; group < WIDE; group += 4) {
        float bias[4][2];
#pragma unroll
        for (int i = 0; i < 8; ++i) bias[i / 2][i % 2] = bias_at(layer, col + 8 * (group + i / 2) + 2 * t + i % 2);
#pragma unroll
        for (int i = 0; i < 2 * TALL; ++i) {
            unsigned words[4];
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const float* mine = sums.of[i / 2][group + j] + i % 2 * 2;
                words[j] = packed(gelu(mine[0] + bias[j][0]), gelu(mine[1] + bias[j][1]));
            }
            if (ALIGNED) transpose_among_four(words);
            if (row + 8 * i >= layer.m) continue;
            bf16* to = layer.out + static_cast<long long>(row + 8 * i) * layer.n;
            if (ALIGNED) {
                const int at = col + 8 * (group + t);
                if (at < layer.n) *reinterpret_cast<uint4*>(to + at) = {words[0], words[1], words[2], words[3]};
            } else {
#pragma unroll
                for (int j = 0; j < 8; ++j) {
                    const int at = col + 8 * (group + j / 2) + 2 * t + j % 2;
                    if (at < layer.n) to[at] = __ushort_as_bfloat16(words[j / 2] >> 16 * (j % 2));
                }
            }
        }
    }
}
