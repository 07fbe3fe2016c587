// A thread that keeps stages full, warp groups that empty them: nobody waits for all.
#pragma once
#include "raster.cuh"
#include "warp_group.cuh"

// Registers of a thread, of the whole warp group at once. What the one kind gives away the other may take.
template <int REGISTERS>
__device__ inline void keep_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
template <int REGISTERS>
__device__ inline void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

constexpr int PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232;  // of 65,536 for one group and two

// By one thread: all of k for one tile of outputs.
template <class Tiles>
__device__ inline void produce(const Tiles& ring, Turn& turn, const Operands& operands, Place first, int k) {
    for (int k0 = 0; k0 < k; k0 += DEPTH) {
        await(ring.empty(turn.stage), turn.parity ^ 1);
        ring.fetch(operands, turn.stage, first.row, first.col, k0);
        ring.advance(turn);
    }
}

template <class Tiles, int WIDE>
__device__ inline void multiply_next(Sums<1, WIDE>& sums, const Tiles& ring, Turn& turn, int row) {
    await(ring.full(turn.stage), turn.parity);
    multiply_tile(sums, ring.x_tile(turn.stage) + row * DEPTH, ring.weight_tile(turn.stage));
    ring.advance(turn);
}

// By a warp group: 64 rows of the tile, from this one on. A stage is released when the products of the next one are
// under way and its own are done.
template <class Tiles, int WIDE>
__device__ inline void consume(Sums<1, WIDE>& sums, const Tiles& ring, Turn& turn, int row, int k) {
    int last = turn.stage;
    multiply_next(sums, ring, turn, row);
    for (int k0 = DEPTH; k0 < k; k0 += DEPTH) {
        const int stage = turn.stage;
        multiply_next(sums, ring, turn, row);
        await_products<1>();
        ring.release(last);
        last = stage;
    }
    await_products<0>();
    settle(sums);
    ring.release(last);
}
