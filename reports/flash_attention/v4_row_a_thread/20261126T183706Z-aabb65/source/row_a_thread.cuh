// A thread a query, without tensor cores: tiles in shared memory as floats, an online softmax.
#pragma once
#include "calling.cuh"
#include "mma.cuh"

constexpr int ROWS = 64;  // queries of a block, and its threads
constexpr int KEYS = 32;  // of a tile

template <int DIM, int PAD>
constexpr int SHARED_BYTES = (2 * ROWS * (DIM + PAD) + 2 * KEYS * DIM) * static_cast<int>(sizeof(float));

// Rows of a matrix of `count` rows, as floats, to rows `stride` apart; zeros behind its end.
template <int DIM>
__device__ inline void stage(float* to, int stride, const bf16* from, int first, int rows, int count) {
    for (int i = threadIdx.x; i < rows * DIM; i += ROWS) {
        const int row = i / DIM, col = i % DIM;
        const bool inside = first + row < count;
        to[row * stride + col] = inside ? __bfloat162float(from[(first + row) * static_cast<long long>(DIM) + col]) : 0;
    }
}

__device__ inline float4& quad(float* place) { return *reinterpret_cast<float4*>(place); }

// The scores of one query, its row of the result so far, its maximum and its sum.
template <int DIM>
__device__ inline void take_up(float (&scores)[KEYS], float* sums, const float* values, float& max, float& total,
                               float factor) {
    float higher = max;
#pragma unroll
    for (int j = 0; j < KEYS; ++j) higher = fmaxf(higher, scores[j]);
    const float origin = higher == -INFINITY ? 0.0f : higher;  // -inf - -inf is no number
    const float before = exp2f((max - origin) * factor);
    max = higher;
    total *= before;
#pragma unroll
    for (int j = 0; j < KEYS; ++j) {
        scores[j] = exp2f((scores[j] - origin) * factor);
        total += scores[j];
    }
    for (int x = 0; x < DIM; x += 4) {
        float4 sum = quad(sums + x);
        sum = {sum.x * before, sum.y * before, sum.z * before, sum.w * before};
#pragma unroll
        for (int j = 0; j < KEYS; ++j) {
            const float4 value = quad(const_cast<float*>(values) + j * DIM + x);
            sum.x += scores[j] * value.x;
            sum.y += scores[j] * value.y;
            sum.z += scores[j] * value.z;
            sum.w += scores[j] * value.w;
        }
        quad(sums + x) = sum;
    }
}

// The first dimension of q's tile and of the sums is DIM + PAD floats wide.
template <int DIM, int PAD>
__global__ void __launch_bounds__(ROWS)
    attend(const __grid_constant__ Attention a, int tiles, float factor) {
    constexpr int STRIDE = DIM + PAD;
    float* queries = reinterpret_cast<float*>(dynamic_shared());
    float *sums = queries + ROWS * STRIDE, *keys = sums + ROWS * STRIDE, *values = keys + KEYS * DIM;
    const long long head = blockIdx.x / tiles;
    const int first = blockIdx.x % tiles * ROWS, query = first + static_cast<int>(threadIdx.x);
    float *query_row = queries + threadIdx.x * STRIDE, *sum_row = sums + threadIdx.x * STRIDE;
    stage<DIM>(queries, STRIDE, a.head_of_q(head, DIM), first, ROWS, a.queries);
    for (int x = 0; x < DIM; ++x) sum_row[x] = 0.0f;

    const int end = a.seen_by_any(first, ROWS), seen = a.seen_by(query);
    float max = -INFINITY, total = 0.0f;
    for (int key = 0; key < end; key += KEYS) {
        __syncthreads();  // the tile before has been used
        stage<DIM>(keys, DIM, a.head_of_k(head, DIM), key, KEYS, a.keys);
        stage<DIM>(values, DIM, a.head_of_v(head, DIM), key, KEYS, a.keys);
        __syncthreads();
        float scores[KEYS] = {};
        for (int x = 0; x < DIM; x += 4) {
            const float4 q = quad(query_row + x);
#pragma unroll
            for (int j = 0; j < KEYS; ++j) {
                const float4 k = quad(keys + j * DIM + x);
                scores[j] += q.x * k.x + q.y * k.y + q.z * k.z + q.w * k.w;
            }
        }
#pragma unroll
        for (int j = 0; j < KEYS; ++j) scores[j] = key + j < seen ? scores[j] : -INFINITY;
        take_up<DIM>(scores, sum_row, values, max, total, factor);
    }
    if (query >= a.queries) return;
    const float inverse = total == 0.0f ? 0.0f : 1.0f / total;
    bf16* out = a.head_of_out(head, DIM) + query * static_cast<long long>(DIM);
    for (int x = 0; x < DIM; ++x) out[x] = __float2bfloat16(sum_row[x] * inverse);
}

template <int DIM, int PAD>
cudaError_t launch(const Attention& a, long long heads, cudaStream_t stream) {
    constexpr int BYTES = SHARED_BYTES<DIM, PAD>;
    const long long blocks = blocks_of(a, heads, ROWS);
    if (blocks == 0) return cudaErrorInvalidValue;
    const auto kernel = attend<DIM, PAD>;
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
    if (status != cudaSuccess) return status;
    kernel<<<blocks, ROWS, BYTES, stream>>>(a, tiles_of(a, ROWS), factor_of(DIM));
    return cudaGetLastError();
}
