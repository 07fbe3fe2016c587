// Pieces of attention in floats: scores of queries with keys, and the largest of each query.
#include "../gallery.cuh"

// ---- keys in a tile of shared memory, a key a lane: rows of 64 floats lie in the same banks, or are padded

constexpr int DEEP = 64, TILE_KEYS = 32, KEY_TILES = 64, QUERIES_A_WARP = 4, TILE_QUERIES = 8 * QUERIES_A_WARP;
constexpr int QUERY_BLOCKS = SMS * 4;

template <int ROW>
__device__ __forceinline__ void largest_scores(const float4 *__restrict__ queries, const float4 *__restrict__ keys,
                                               float *out) {
    __shared__ alignas(16) float q[TILE_QUERIES][DEEP], k[TILE_KEYS][ROW];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int at = threadIdx.x; at < TILE_QUERIES * DEEP / 4; at += 256)
        ((float4 *)q)[at] = queries[blockIdx.x * (TILE_QUERIES * DEEP / 4) + at];
    float best[QUERIES_A_WARP] = {};
#pragma unroll 1
    for (int tile = 0; tile < KEY_TILES; ++tile) {
        __syncthreads();
#pragma unroll
        for (int at = threadIdx.x; at < TILE_KEYS * DEEP / 4; at += 256)
            *(float4 *)&k[at / 16][at % 16 * 4] = keys[tile * (TILE_KEYS * DEEP / 4) + at];
        __syncthreads();
        float score[QUERIES_A_WARP] = {};
#pragma unroll
        for (int d = 0; d < DEEP; d += 4) {
            float4 key = *(float4 *)&k[lane][d];  // FAULT
#pragma unroll
            for (int n = 0; n < QUERIES_A_WARP; ++n) {
                float4 query = *(float4 *)&q[warp * QUERIES_A_WARP + n][d];
                score[n] += query.x * key.x + query.y * key.y + query.z * key.z + query.w * key.w;
            }
        }
#pragma unroll
        for (int n = 0; n < QUERIES_A_WARP; ++n) best[n] = fmaxf(best[n], score[n]);
    }
#pragma unroll
    for (int n = 0; n < QUERIES_A_WARP; ++n)
        out[(blockIdx.x * TILE_QUERIES + warp * QUERIES_A_WARP + n) * 32 + lane] = best[n];
}

extern "C" __global__ void __launch_bounds__(256) attention_keys_in_one_bank(const float4 *q, const float4 *k, float *out) {
    largest_scores<DEEP>(q, k, out);
}

extern "C" __global__ void __launch_bounds__(256) attention_keys_in_one_bank_fix(const float4 *q, const float4 *k,
                                                                                float *out) {
    largest_scores<DEEP + 4>(q, k, out);
}

CASE(attention_keys_in_one_bank, OUT, QUERY_BLOCKS *TILE_QUERIES * 32, 1, nullptr,
     attention_keys_in_one_bank<<<QUERY_BLOCKS, 256>>>((float4 *)A, (float4 *)B, OUT))
CASE(attention_keys_in_one_bank_fix, OUT, QUERY_BLOCKS *TILE_QUERIES * 32, 1, "attention_keys_in_one_bank",
     attention_keys_in_one_bank_fix<<<QUERY_BLOCKS, 256>>>((float4 *)A, (float4 *)B, OUT))

// ---- a query a thread in registers, keys of 32 floats in shared memory that all lanes read: four products a load of
// 16 bytes, or sixteen

constexpr int WIDTH = 32, HELD_KEYS = 256, THREADS = SMS * 8 * 256;

template <int QUERIES>
__device__ __forceinline__ void scores_of_own(const float4 *__restrict__ queries, const float4 *__restrict__ keys,
                                              float *out) {
    __shared__ float4 k[HELD_KEYS][WIDTH / 4];
    for (int at = threadIdx.x; at < HELD_KEYS * WIDTH / 4; at += 128) k[0][at] = keys[at];
    float4 q[QUERIES][WIDTH / 4];
    int first = blockIdx.x * 128 * QUERIES + threadIdx.x;
#pragma unroll
    for (int n = 0; n < QUERIES; ++n)
#pragma unroll
        for (int d = 0; d < WIDTH / 4; ++d) q[n][d] = queries[d * THREADS + first + n * 128];
    __syncthreads();
    float best[QUERIES] = {};
#pragma unroll 1
    for (int key = 0; key < HELD_KEYS; ++key) {
        float score[QUERIES] = {};
#pragma unroll
        for (int d = 0; d < WIDTH / 4; ++d) {
            float4 v = k[key][d];  // FAULT
#pragma unroll
            for (int n = 0; n < QUERIES; ++n)
                score[n] = fmaf(q[n][d].x, v.x, fmaf(q[n][d].y, v.y, fmaf(q[n][d].z, v.z, fmaf(q[n][d].w, v.w, score[n]))));
        }
#pragma unroll
        for (int n = 0; n < QUERIES; ++n) best[n] = fmaxf(best[n], score[n]);
    }
#pragma unroll
    for (int n = 0; n < QUERIES; ++n) out[first + n * 128] = best[n];
}

extern "C" __global__ void __launch_bounds__(128) attention_query_a_thread(const float4 *q, const float4 *k, float *out) {
    scores_of_own<1>(q, k, out);
}

extern "C" __global__ void __launch_bounds__(128) attention_query_a_thread_fix(const float4 *q, const float4 *k,
                                                                              float *out) {
    scores_of_own<4>(q, k, out);
}

CASE(attention_query_a_thread, OUT, THREADS, 1, nullptr,
     attention_query_a_thread<<<THREADS / 128, 128>>>((float4 *)A, (float4 *)B, OUT))
CASE(attention_query_a_thread_fix, OUT, THREADS, 1, "attention_query_a_thread",
     attention_query_a_thread_fix<<<THREADS / 512, 128>>>((float4 *)A, (float4 *)B, OUT))

// ---- 32,768 keys of 128 bytes out of L2: a block a query and all keys, or four queries and a quarter

constexpr int L2_KEYS = 32768, L2_QUERIES = SMS * 4;

template <int QUERIES>
__device__ __forceinline__ void best_of_stretch(const float4 *__restrict__ queries, const float4 *__restrict__ keys,
                                                int *out) {
    constexpr int STRETCH = L2_KEYS / QUERIES;
    int group = blockIdx.x / QUERIES * QUERIES, first = blockIdx.x % QUERIES * STRETCH, part = threadIdx.x % 8;
    float4 q[QUERIES];
    float best[QUERIES] = {};
#pragma unroll
    for (int n = 0; n < QUERIES; ++n) q[n] = queries[(group + n) * 8 + part];
#pragma unroll 4
    for (int key = threadIdx.x / 8; key < STRETCH; key += 32) {
        float4 v = keys[(first + key) * 8 + part];  // FAULT
#pragma unroll
        for (int n = 0; n < QUERIES; ++n) {
            float score = v.x * q[n].x + v.y * q[n].y + v.z * q[n].z + v.w * q[n].w;
#pragma unroll
            for (int d = 4; d > 0; d /= 2) score += __shfl_xor_sync(~0u, score, d);
            best[n] = fmaxf(best[n], score);
        }
    }
#pragma unroll
    for (int n = 0; n < QUERIES; ++n) {
        int largest = __reduce_max_sync(~0u, __float_as_int(best[n]));  // none is negative
        if (threadIdx.x % 32 == 0) atomicMax(out + group + n, largest);
    }
}

extern "C" __global__ void __launch_bounds__(256) attention_query_a_block(const float4 *q, const float4 *k, int *out) {
    best_of_stretch<1>(q, k, out);
}

extern "C" __global__ void __launch_bounds__(256) attention_query_a_block_fix(const float4 *q, const float4 *k, int *out) {
    best_of_stretch<4>(q, k, out);
}

CASE(attention_query_a_block, SMALL, L2_QUERIES, 1, nullptr,
     attention_query_a_block<<<L2_QUERIES, 256>>>((float4 *)A, (float4 *)B, (int *)SMALL))
CASE(attention_query_a_block_fix, SMALL, L2_QUERIES, 1, "attention_query_a_block",
     attention_query_a_block_fix<<<L2_QUERIES, 256>>>((float4 *)A, (float4 *)B, (int *)SMALL))
