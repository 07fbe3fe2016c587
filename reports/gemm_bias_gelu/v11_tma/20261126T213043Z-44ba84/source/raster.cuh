// The order in which tiles are computed: v10's, in groups of rows of tiles, down before right.
#pragma once
#include "layer.cuh"

struct Place {
    int row, col;
};

// Of a tile's first output. The last group has as many rows of tiles as are left.
template <int TILE_M, int TILE_N, int GROUP>
__device__ inline Place place_of(int tile, const Layer& layer) {
    const int tiles_m = (layer.m + TILE_M - 1) / TILE_M, tiles_n = (layer.n + TILE_N - 1) / TILE_N;
    const int first = tile / (GROUP * tiles_n) * GROUP, within = tile - first * tiles_n;
    const int tall = tiles_m - first < GROUP ? tiles_m - first : GROUP;
    return {(first + within % tall) * TILE_M, within / tall * TILE_N};
}

// Of the current device.
inline cudaError_t count_sms(int* sms) {
    int device = 0;
    const cudaError_t status = cudaGetDevice(&device);
    return status == cudaSuccess ? cudaDeviceGetAttribute(sms, cudaDevAttrMultiProcessorCount, device) : status;
}
