// Changes: wgmma for mma.sync, with both factors of the scores in shared memory and powers in registers, and TMA for
// cp.async: one thread asks for a tile. Two warp groups have 64 queries each, and meet with every tile.
//
// expected: `tensor-underfed`. 420 to 520 TFLOP/s at d128, 1.2 to 1.5 times v10: wgmma takes 2048 cycles of the tensor
//   cores for a tile where mma.sync takes 3072, and powers take 1024 of the special-function unit, after the products
//   and not beside them, as both groups start a tile together.
// measured: on an H100, 2026-11-26: 1.003 ms at d128, 548 TFLOP/s, 1.566 times v10; 1.407 at d128_causal, 1.348 and
//   1.257 at d64. `tensor-underfed`, 1.62x; causal `redundant-traffic`, 1.72x.
#include "online.cuh"

// Two stages of a tile of keys and one of values, each filled again when both warp groups have done with it.
template <int DIM_>
struct Block {
    static constexpr int DIM = DIM_, GROUPS = 2, KEYS = 128, STAGES = 2;
    static constexpr int ROWS = GROUPS * GROUP_ROWS, THREADS = GROUPS * GROUP_THREADS, WIDE = KEYS / 8;
    static constexpr int QUERIES = GROUP_ROWS * DIM, TILE = KEYS * DIM;  // elements
    static constexpr int ELEMENTS = GROUPS * QUERIES + 2 * STAGES * TILE;
    static constexpr int BYTES = ELEMENTS * ELEMENT + (1 + STAGES) * static_cast<int>(sizeof(Barrier));
    bf16* memory;

    __device__ bf16* queries(int group) const { return memory + group * QUERIES; }
    __device__ bf16* keys(int stage) const { return queries(GROUPS) + 2 * stage * TILE; }
    __device__ bf16* values(int stage) const { return keys(stage) + TILE; }
    __device__ Barrier* queries_full() const { return reinterpret_cast<Barrier*>(memory + ELEMENTS); }
    __device__ Barrier* full(int stage) const { return queries_full() + 1 + stage; }
    // By one thread.
    __device__ void make() const {
        make_barrier(queries_full(), 1);
        for (int stage = 0; stage < STAGES; ++stage) make_barrier(full(stage), 1);
        show_barriers();
    }
    __device__ void fetch_queries(const Operands& operands, int head, int first) const {
        arrive_expecting(queries_full(), GROUPS * QUERIES * ELEMENT);
        for (int group = 0; group < GROUPS; ++group) {
            fetch_rows(queries(group), operands.q, head, first + group * GROUP_ROWS, queries_full());
        }
    }
    __device__ void fetch(const Operands& operands, int head, int tile) const {
        const int stage = tile % STAGES;
        arrive_expecting(full(stage), 2 * TILE * ELEMENT);
        fetch_rows(keys(stage), operands.k, head, tile * KEYS, full(stage));
        fetch_rows(values(stage), operands.v, head, tile * KEYS, full(stage));
    }
};

template <class T>
__global__ void __launch_bounds__(T::THREADS, 1)
    attend(const __grid_constant__ Operands operands, const __grid_constant__ Attention a, const Grid grid,
           float factor) {
    const T block = {reinterpret_cast<bf16*>(shared_memory())};
    const Place place = place_of(grid, static_cast<int>(blockIdx.x));
    const int group = own_group(), first = place.tile * T::ROWS, row = first + group * GROUP_ROWS;
    const int end = a.seen_by_any(first, T::ROWS), seen = a.seen_by(row);
    if (threadIdx.x == 0) {
        block.make();
        if (end > 0) block.fetch_queries(operands, place.head, first);
        for (int tile = 0; tile < T::STAGES && tile * T::KEYS < end; ++tile) block.fetch(operands, place.head, tile);
    }
    __syncthreads();
    if (end > 0) await(block.queries_full(), 0);

    Sums<T::DIM / 8> result = {};
    Statistics rows;
    for (int tile = 0; tile * T::KEYS < end; ++tile) {
        const int stage = tile % T::STAGES;
        Sums<T::WIDE> scores;
        Powers<T::WIDE> powers;
        float before[2];
        await(block.full(stage), tile / T::STAGES % 2);
        begin_products();
        multiply_keys<T::DIM>(scores, block.queries(group), block.keys(stage));
        await_products<0>();
        settle(scores);
        if ((tile + 1) * T::KEYS > seen) mask(scores, a, row, tile * T::KEYS);
        rise<0>(scores, rows, before, factor);
        raise(scores, rows, factor);
        pack(powers, scores);
        scale(result, before);
        begin_products();
        add_values<T::WIDE>(result, powers, block.values(stage));
        await_products<0>();
        settle(result);
        __syncthreads();  // both have done with this stage
        const int later = tile + T::STAGES;
        if (threadIdx.x == 0 && later * T::KEYS < end) block.fetch(operands, place.head, later);
    }
    write(a.head_of_out(place.head, T::DIM), result, rows, row, a.queries);
}

template <class T>
cudaError_t launch(const Attention& a, long long heads, cudaStream_t stream) {
    return launch<T>(attend<T>, a, heads, SECTION, LLONG_MAX, stream);
}

extern "C" cudaError_t flash_attention(const bf16* q, const bf16* k, const bf16* v, bf16* out, long long batch,
                                       long long heads, long long queries, long long keys, long long dim,
                                       long long causal, cudaStream_t stream) {
    return checked_launch(q, k, v, out, batch, heads, queries, keys, dim, causal, stream, launch<Block<64>>,
                          launch<Block<128>>);
}
