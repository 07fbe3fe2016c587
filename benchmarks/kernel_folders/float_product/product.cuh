// What the steps share: the operands of a product of row-major matrices, and how a grid is refused that does not fit.
#pragma once
#include <cuda_runtime.h>

struct Product {
    const float *a, *b;
    float *c;
    int m, n, k;
};

// Sizes must be multiples of the tile, and addresses of 16 bytes: the steps are about reuse, not about edges.
inline bool fits(const Product &p, int tile_m, int tile_n, int tile_k) {
    const size_t addresses = reinterpret_cast<size_t>(p.a) | reinterpret_cast<size_t>(p.b) | reinterpret_cast<size_t>(p.c);
    return p.m > 0 && p.n > 0 && p.k > 0 && p.m % tile_m == 0 && p.n % tile_n == 0 && p.k % tile_k == 0 &&
           addresses % 16 == 0 && p.m / tile_m < 65536;
}
