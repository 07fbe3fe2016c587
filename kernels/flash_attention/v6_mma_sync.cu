// Changes: both products on tensor cores, mma.sync on bfloat16 with sums in float32. A warp has 16 queries; powers go
// from one product to the next in registers, since the first leaves them where the second takes its operand.
//
// expected: `shared-bank-conflict`: operands come by loads of four bytes from rows 256 bytes apart, eight passes each,
//   and those of v by loads of two bytes, four passes each and four loads an operand: 16 passes for an mma.sync, which
//   takes less than two cycles of an SM. No more than 59 TFLOP/s at d128, 40 to 56, 2 to 4 times v5.
// measured: on an H100, 2026-11-26: 9.88 ms at d128, 55.7 TFLOP/s, 5.73 times v5; shared memory 96 % busy.
//   `shared-bank-conflict`, 3.80x.
#include "plain_tile.cuh"

constexpr int THREADS = 128;
constexpr int ROWS = THREADS / WARP * ROWS_A_MMA;  // queries of a block

// Rows of k or v from `first` on into a tile; zeros behind the last one.
template <typename Tile>
__device__ inline void copy_tile(bf16* tile, const bf16* from, int first, int count) {
    constexpr int CHUNKS = Tile::DIM / CHUNK;
#pragma unroll
    for (int i = 0; i < KEYS; i += THREADS / CHUNKS) {
        const int row = i + static_cast<int>(threadIdx.x / CHUNKS), chunk = threadIdx.x % CHUNKS;
        const uint4* place = reinterpret_cast<const uint4*>(from + (first + row) * static_cast<long long>(Tile::DIM));
        *reinterpret_cast<uint4*>(tile + Tile::place(row, chunk)) = first + row < count ? place[chunk] : uint4{};
    }
}

template <typename Tile>
__global__ void __launch_bounds__(THREADS)
    attend(const __grid_constant__ Attention a, int tiles, float factor) {
    constexpr int DIM = Tile::DIM;
    __shared__ __align__(16) unsigned char memory[2 * Tile::BYTES];
    bf16 *keys = reinterpret_cast<bf16*>(memory), *values = keys + KEYS * DIM;
    const long long head = blockIdx.x / tiles;
    const int first = blockIdx.x % tiles * ROWS;
    const int row = first + static_cast<int>(threadIdx.x) / WARP * ROWS_A_MMA;  // of the warp
    const int end = a.seen_by_any(first, ROWS), seen_by_all = a.seen_by(row);
    Queries<DIM> queries;
    load_queries<DIM>(queries, a.head_of_q(head, DIM), row, a.queries);
    Result<DIM> result = {};
    Statistics rows;
    for (int key = 0; key < end; key += KEYS) {
        __syncthreads();  // the tile before has been used
        copy_tile<Tile>(keys, a.head_of_k(head, DIM), key, a.keys);
        copy_tile<Tile>(values, a.head_of_v(head, DIM), key, a.keys);
        __syncthreads();
        Scores scores = {};
        Tile::multiply(scores, queries, keys);
        if (key + KEYS > seen_by_all) mask(scores, a, row, key);
        raise<DIM>(scores, result, rows, factor);
        Tile::add(result, scores, values);
    }
    write<DIM>(a.head_of_out(head, DIM), result, rows, row, a.queries);
}

template <typename Tile>
static cudaError_t launch(const Attention& a, long long heads, cudaStream_t stream) {
    const long long blocks = blocks_of(a, heads, ROWS);
    if (blocks == 0) return cudaErrorInvalidValue;
    const auto kernel = attend<Tile>;
    kernel<<<blocks, THREADS, 0, stream>>>(a, tiles_of(a, ROWS), factor_of(Tile::DIM));
    return cudaGetLastError();
}

extern "C" cudaError_t flash_attention(const bf16* q, const bf16* k, const bf16* v, bf16* out, long long batch,
                                       long long heads, long long queries, long long keys, long long dim,
                                       long long causal, cudaStream_t stream) {
    return checked_launch(q, k, v, out, batch, heads, queries, keys, dim, causal, stream,
                          launch<Plain<64>>, launch<Plain<128>>);
}
