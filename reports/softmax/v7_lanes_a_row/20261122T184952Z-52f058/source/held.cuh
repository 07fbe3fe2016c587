// A thread's share of a row in registers: 128-bit packs, and perhaps one of the columns that belong to no pack. Up to
// three columns stand before the row's first address that is a multiple of 16, and up to three behind the last whole
// pack: these edges go to the row's first threads, one each.
#pragma once
#include <cstdint>
#include <cuda_runtime.h>

#include "statistics.cuh"

constexpr int PACK = 4;
constexpr int MOST_EDGES = 6;
constexpr int NO_EDGE = MOST_EDGES;

struct Row {
    int head, packs, edges;  // columns before the packs, packs, columns that belong to none
};

__device__ inline Row row_at(const float* address, int cols) {
    const int ahead = -static_cast<int>(reinterpret_cast<uintptr_t>(address) / sizeof(float)) & (PACK - 1);
    const int head = ahead < cols ? ahead : cols;
    const int packs = (cols - head) / PACK;
    return {head, packs, cols - packs * PACK};
}

__device__ inline int edge_column(Row row, int edge) { return edge < row.head ? edge : edge + row.packs * PACK; }

template <int PACKS>
struct Held {
    float4 pack[PACKS];
    float edge;
};

// Packs first, first + step, ... and an edge; what the row does not have counts as -inf.
template <int PACKS>
__device__ inline Held<PACKS> load(const float* address, Row row, int first, int step, int edge) {
    const float4* packs = reinterpret_cast<const float4*>(address + row.head);
    Held<PACKS> held;
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        const int i = first + k * step;
        held.pack[k] = i < row.packs ? packs[i] : make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
    }
    held.edge = edge < row.edges ? address[edge_column(row, edge)] : -INFINITY;
    return held;
}

template <int PACKS>
__device__ inline void store(float* address, Row row, int first, int step, int edge, const Held<PACKS>& held) {
    float4* packs = reinterpret_cast<float4*>(address + row.head);
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        const int i = first + k * step;
        if (i < row.packs) packs[i] = held.pack[k];
    }
    if (edge < row.edges) address[edge_column(row, edge)] = held.edge;
}

// Replaces every value by factor * exp(value - origin) and returns the sum.
template <int PACKS>
__device__ inline float raise(Held<PACKS>& held, float origin, float factor = 1.0f) {
    float sum = held.edge = factor * power(held.edge, origin);
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        float4& p = held.pack[k];
        p = make_float4(factor * power(p.x, origin), factor * power(p.y, origin), factor * power(p.z, origin),
                        factor * power(p.w, origin));
        sum += (p.x + p.y) + (p.z + p.w);
    }
    return sum;
}

// Replaces every value by exp(value - maximum of this thread), so that each is raised once; the row's own maximum
// comes in with the factor that is due anyway.
template <int PACKS>
__device__ inline Statistics raised(Held<PACKS>& held) {
    float max = held.edge;
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        const float4& p = held.pack[k];
        max = fmaxf(max, fmaxf(fmaxf(p.x, p.y), fmaxf(p.z, p.w)));
    }
    return {max, raise(held, origin_of(max))};
}

template <int PACKS>
__device__ inline void scale(Held<PACKS>& held, float factor) {
    held.edge *= factor;
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        float4& p = held.pack[k];
        p = make_float4(p.x * factor, p.y * factor, p.z * factor, p.w * factor);
    }
}

// From exp(value - mine) to softmax. In a row of -inf alone this is -inf - -inf: NaN, as it should be.
__device__ inline float factor_of(float mine, Statistics row) { return power(mine, row.max) / row.sum; }

// Addresses that the packs of both matrices can have: alike up to a multiple of 16.
inline bool same_alignment(const float* x, const float* y) {
    const uintptr_t from = reinterpret_cast<uintptr_t>(x), to = reinterpret_cast<uintptr_t>(y);
    return from % sizeof(float) == 0 && (from ^ to) % (PACK * sizeof(float)) == 0;
}
