// Blocks of a cluster that fill one another's stages (PTX ISA, "barrier.cluster", "mapa", ".multicast::cluster").
#pragma once
#include "ring.cuh"

constexpr int PAIR = 2;  // blocks of a cluster, one below the other: the same rows of weight

constexpr unsigned short BOTH = 0b11;

// Every thread of the cluster arrives and waits.
__device__ inline void meet_in_cluster() {
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

// At the place in block `rank` that the barrier is in this block. Nothing was written that the other block has to see:
// a release to the cluster would be a fence of the whole GPU's memory for each arrival.
__device__ inline void arrive_in(int rank, Barrier* barrier) {
    asm volatile(
        "{\n.reg .b32 there;\n"
        "mapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [there];\n}" ::"r"(in_shared(barrier)),
        "r"(rank)
        : "memory");
}

// Into the same place of both blocks, whose barriers count it.
__device__ inline void fetch_box_for_both(bf16* to, const CUtensorMap& matrix, int row, int col, Barrier* barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
        "[%1, {%2, %3}], [%4], %5;" ::"r"(in_shared(to)),
        "l"(&matrix), "r"(col), "r"(row), "r"(in_shared(barrier)), "h"(BOTH)
        : "memory");
}

// A stage has its own rows of x, and of weight one half that each block fetches for both. So it is empty when both
// have multiplied.
template <int TILE_M, int TILE_N, int STAGES>
struct SharedRing : Ring<TILE_M, TILE_N, STAGES> {
    using Own = Ring<TILE_M, TILE_N, STAGES>;
    static constexpr int HALF = TILE_N / PAIR;
    int rank;
    __device__ SharedRing(bf16* memory, Barrier* barriers, int rank) : Own{memory, barriers}, rank(rank) {}

    __device__ void fetch(const Operands& operands, int stage, int row, int col, int k0) const {
        arrive_expecting(this->full(stage), Own::STAGE_BYTES);
        fetch_box(this->x_tile(stage), operands.x, row, k0, this->full(stage));
        fetch_box_for_both(this->weight_tile(stage) + rank * HALF * DEPTH, operands.weight, col + rank * HALF, k0,
                           this->full(stage));
    }
    __device__ void release(int stage) const {
        const int lane = threadIdx.x % WARP;
        if (lane < PAIR) arrive_in(lane, this->empty(stage));
    }
};
