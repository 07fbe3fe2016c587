// Changes: the chain in two kernels of our own. Means first, a warp a row; then the covariances, a warp a tile of 8 x 8
// pairs, that subtract the means as they read. Nothing is written between the two but the means.
//
// expected: `redundant-traffic`: DRAM reads the samples twice where once would do; the tiles of a window share them in
//   L2. 0.45 to 0.5 of the copy at c8, where there is one tile; at c32 L2 delivers every sample four times, 2.1 GB, and
//   is the limit: 0.2 to 0.3 of the copy, 1.3 to 2 times v0.
// measured: 539 us at c32, 0.24 of the copy, 1.68 times v0; 0.40 at c8. `redundant-traffic`, 1.30x. L2 delivers at 39 %
//   of its rate in the tiles, so it is not the limit: 126 registers leave 16 warps that wait.
#include "lane_sums.cuh"

constexpr int TILE = 8;  // channels: a lane keeps 64 sums
constexpr int ROWS = 8;  // of a block that takes means, a warp each

__global__ void __launch_bounds__(ROWS * WARP)
    row_means(const float* __restrict__ x, float* __restrict__ mean, long long rows, long long samples) {
    __shared__ float parts[ROWS][WARP + 1];
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const long long first = static_cast<long long>(blockIdx.x) * ROWS, row = first + warp;
    float sum = 0.0f;
    if (row < rows) {
        for (long long t = lane; t < samples; t += WARP) sum += x[row * samples + t];
    }
    parts[warp][lane] = sum;
    __syncthreads();
    if (threadIdx.x < ROWS && first + threadIdx.x < rows) {
        float total = 0.0f;
        for (int k = 0; k < WARP; ++k) total += parts[threadIdx.x][k];
        mean[first + threadIdx.x] = total / samples;
    }
}

// A warp a tile of pairs of a window; tiles of one window follow each other, so that L2 still has its samples.
__global__ void __launch_bounds__(WARP)
    tile_covariance(const float* __restrict__ x, const float* __restrict__ mean, float* __restrict__ cov,
                    int channels, long long samples, int tiles) {
    __shared__ float totals[TILE * TILE], room[ROOM];
    const long long window = blockIdx.x / tiles;
    int row = 0, column = blockIdx.x % tiles;  // of the tile, column <= row
    while (column > row) column -= ++row;
    const float* x_rows = x + (window * channels + row * TILE) * samples;
    const float* y_rows = x + (window * channels + column * TILE) * samples;
    float x_mean[TILE], y_mean[TILE], sums[TILE * TILE] = {};
#pragma unroll
    for (int i = 0; i < TILE; ++i) {
        x_mean[i] = mean[window * channels + row * TILE + i];
        y_mean[i] = mean[window * channels + column * TILE + i];
    }
#pragma unroll 1
    for (long long t = threadIdx.x; t < samples; t += WARP) {
        float a[TILE], b[TILE];
#pragma unroll
        for (int i = 0; i < TILE; ++i) {
            a[i] = x_rows[i * samples + t] - x_mean[i];
            b[i] = y_rows[i * samples + t] - y_mean[i];
        }
#pragma unroll
        for (int k = 0; k < TILE * TILE; ++k) sums[k] += a[k / TILE] * b[k % TILE];
    }
    add_up(sums, totals, room);
    float* matrix = cov + window * channels * channels;
    for (int k = threadIdx.x; k < TILE * TILE; k += WARP) {
        const int i = row * TILE + k / TILE, j = column * TILE + k % TILE;
        const float value = totals[k] / (samples - 1);
        matrix[i * channels + j] = value;
        if (row != column) matrix[j * channels + i] = value;
    }
}

extern "C" cudaError_t fusion_limit(const float* x, float* mean, float* cov, long long windows, long long channels,
                                    long long samples, cudaStream_t stream) {
    if (windows < 0 || samples < 2) return cudaErrorInvalidValue;
    if (channels < TILE || channels > 1024 || channels % TILE) return cudaErrorInvalidValue;
    if (windows == 0) return cudaSuccess;
    const long long bands = channels / TILE, tiles = bands * (bands + 1) / 2;
    if (windows > INT_MAX / (tiles * TILE)) return cudaErrorInvalidValue;
    row_means<<<windows * channels / ROWS, ROWS * WARP, 0, stream>>>(x, mean, windows * channels, samples);
    tile_covariance<<<windows * tiles, WARP, 0, stream>>>(x, mean, cov, channels, samples, tiles);
    return cudaGetLastError();
}
