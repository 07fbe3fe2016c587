// Outputs on their way through shared memory: a warp rounds its 16 rows there, 64 columns at a time, and TMA stores
// them as boxes while the warp goes on.
#pragma once
#include "roles.cuh"

constexpr int BOX_ROWS = 16, BOX = BOX_ROWS * DEPTH;  // elements; a row is 128 bytes, swizzled as tiles are
constexpr int BOXES = 2;  // a warp: one is stored while the other is filled

// A warp's own. They take turns across tiles: a tile may have an odd number of parts.
struct Boxes {
    bf16* memory;
    int next = 0;
};

__device__ inline void stmatrix_x4(void* row, const unsigned (&r)[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(in_shared(row)), "r"(r[0]),
                 "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
}

// Of 8 WIDE columns from col on, a pair a register: of 64 columns a lane has the pair 2 * lane. Asked for before the
// products, it has come long before the sums.
template <int WIDE>
struct Biases {
    unsigned pairs[WIDE / 8];
    __device__ Biases(const Layer& layer, int col) {
#pragma unroll
        for (int i = 0; i < WIDE / 8; ++i) {
            const int at = col + DEPTH * i + threadIdx.x % WARP * 2;
            pairs[i] = at < layer.n ? *reinterpret_cast<const unsigned*>(layer.bias + at) : 0;
        }
    }
};

// Adds the bias, applies GELU, rounds and stores 16 rows from `row` on.
template <float GELU(float), int WIDE>
__device__ inline void store_boxes(const Sums<1, WIDE>& sums, const Biases<WIDE>& biases, Boxes& boxes,
                                   const CUtensorMap& out, int row, int col) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int part = 0; part < WIDE / 8; ++part) {
        bf16* box = boxes.memory + boxes.next * BOX;
        boxes.next ^= 1;
        if (lane == 0) await_stores_read<BOXES - 1>();
        __syncwarp();
#pragma unroll
        for (int chunk = 0; chunk < CHUNKS; chunk += 2) {
            unsigned words[4];  // rows 0 to 7 and 8 to 15 of a chunk, then of the next one
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const float* mine = sums.of[0][part * CHUNKS + chunk + i];
                const unsigned pair = __shfl_sync(ALL_LANES, biases.pairs[part], (chunk + i) * 4 + lane % 4);
                const float low = __uint_as_float(pair << 16), high = __uint_as_float(pair & 0xffff0000);
                words[2 * i] = packed(GELU(mine[0] + low), GELU(mine[1] + high));
                words[2 * i + 1] = packed(GELU(mine[2] + low), GELU(mine[3] + high));
            }
            stmatrix_x4(place(box, lane % 16, chunk + lane / 16), words);
        }
        show_writes();
        __syncwarp();
        if (lane == 0) store_box(out, row, col + part * DEPTH, box);
    }
}
