// A warp has 32 queries, a block 128: what ldmatrix brings of k and v serves two products. Registers that hold twice
// the sums have no room for q, which lies in shared memory, too. Else as two_stages.cuh.
#pragma once
#include "copy_rows.cuh"
#include "swizzled_tile.cuh"

constexpr int OF_WARP = 2;  // times 16 queries
constexpr int ROWS = THREADS / WARP * OF_WARP * ROWS_A_MMA;

// All blocks, and the queries that one of them has: the tile-th 128 of a head.
struct Grid {
    int tiles, heads;
    bool causal;
};
struct Place {
    int head, tile;
};

// scores = q k^T for rows of q from `row` of its tile on
template <typename Tile>
__device__ inline void multiply(Scores (&scores)[OF_WARP], const bf16* queries, int row, const bf16* keys) {
    const int lane = threadIdx.x % WARP, matrix = lane / 8;
#pragma unroll 2  // addresses of all of them would take registers that the sums need
    for (int k = 0; k < Tile::DIM / K_A_MMA; ++k) {
        unsigned of_q[OF_WARP][4];
#pragma unroll
        for (int m = 0; m < OF_WARP; ++m) {
            const int at = row + m * ROWS_A_MMA + matrix % 2 * 8 + lane % 8;
            ldmatrix_x4(of_q[m], queries + Tile::place(at, 2 * k + matrix / 2));
        }
#pragma unroll
        for (int n = 0; n < KEYS / COLS_A_MMA; n += 2) {
            unsigned pairs[2][2];
            Tile::keys_of(pairs, keys, n, k);
#pragma unroll
            for (int m = 0; m < OF_WARP; ++m) {
                mma_m16n8k16(scores[m][n], of_q[m], pairs[0]);
                mma_m16n8k16(scores[m][n + 1], of_q[m], pairs[1]);
            }
        }
    }
}

// result += powers v
template <typename Tile>
__device__ inline void add(Result<Tile::DIM> (&result)[OF_WARP], const Scores (&scores)[OF_WARP], const bf16* values) {
#pragma unroll
    for (int step = 0; step < KEYS / K_A_MMA; ++step) {
        unsigned powers[OF_WARP][4];
#pragma unroll
        for (int m = 0; m < OF_WARP; ++m) pack(powers[m], scores[m], step);
#pragma unroll
        for (int n = 0; n < Tile::DIM / COLS_A_MMA; n += 2) {
            unsigned pairs[2][2];
            Tile::values_of(pairs, values, n, step);
#pragma unroll
            for (int m = 0; m < OF_WARP; ++m) {
                mma_m16n8k16(result[m][n], powers[m], pairs[0]);
                mma_m16n8k16(result[m][n + 1], powers[m], pairs[1]);
            }
        }
    }
}

// Order says which queries of which head a block has.
template <typename Tile, typename Order>
__global__ void __launch_bounds__(THREADS)
    attend(const __grid_constant__ Attention a, const Grid grid, float factor) {
    constexpr int DIM = Tile::DIM, TILE = KEYS * DIM;
    bf16* q_tile = reinterpret_cast<bf16*>(dynamic_shared());
    bf16* stages = q_tile + ROWS * DIM;  // of each two tiles: keys, values
    const Place place = Order::place(grid, static_cast<int>(blockIdx.x));
    const int first = place.tile * ROWS;
    const int of_block = static_cast<int>(threadIdx.x) / WARP * OF_WARP * ROWS_A_MMA, row = first + of_block;
    const int end = a.seen_by_any(first, ROWS);
    const auto copy = [&](int key, bf16* stage) {
        copy_rows<Tile, KEYS>(stage, a.head_of_k(place.head, DIM), key, a.keys);
        copy_rows<Tile, KEYS>(stage + TILE, a.head_of_v(place.head, DIM), key, a.keys);
        commit_copies();
    };
    if (end > 0) {
        copy_rows<Tile, ROWS>(q_tile, a.head_of_q(place.head, DIM), first, a.queries);
        copy(0, stages);
    }

    Result<DIM> result[OF_WARP] = {};
    Statistics rows[OF_WARP];
    for (int key = 0; key < end; key += KEYS) {
        bf16* stage = stages + key / KEYS % 2 * 2 * TILE;
        wait_for_copies<0>();
        __syncthreads();
        if (key + KEYS < end) copy(key + KEYS, stages + (key / KEYS + 1) % 2 * 2 * TILE);
        Scores scores[OF_WARP] = {};
        multiply<Tile>(scores, q_tile, of_block, stage);
#pragma unroll
        for (int m = 0; m < OF_WARP; ++m) {
            if (key + KEYS > a.seen_by(row)) mask(scores[m], a, row + m * ROWS_A_MMA, key);
            raise<DIM>(scores[m], result[m], rows[m], factor);
        }
        add<Tile>(result, scores, stage + TILE);
    }
    bf16* out = a.head_of_out(place.head, DIM);
#pragma unroll
    for (int m = 0; m < OF_WARP; ++m) write<DIM>(out, result[m], rows[m], row + m * ROWS_A_MMA, a.queries);
}

template <typename Tile, typename Order>
cudaError_t launch(const Attention& a, long long heads, cudaStream_t stream) {
    constexpr int BYTES = 4 * Tile::BYTES + ROWS * Tile::DIM * static_cast<int>(sizeof(bf16));
    const long long blocks = blocks_of(a, heads, ROWS);
    if (blocks == 0) return cudaErrorInvalidValue;
    const auto kernel = attend<Tile, Order>;
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
    if (status != cudaSuccess) return status;
    const Grid grid = {tiles_of(a, ROWS), static_cast<int>(heads), a.causal};
    kernel<<<blocks, THREADS, BYTES, stream>>>(a, grid, factor_of(Tile::DIM));
    return cudaGetLastError();
}
