// What every version is called with, and which keys a query sees.
#pragma once
#include <climits>
#include <cmath>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__host__ __device__ constexpr int lesser(int a, int b) { return a < b ? a : b; }

using bf16 = __nv_bfloat16;

constexpr int WARP = 32;
constexpr unsigned ALL_LANES = 0xffffffff;
constexpr int CHUNK = 8;  // elements of an access of 16 bytes
constexpr long long MOST_ROWS = 1 << 29;  // of q or of k: their sum is an int

struct Attention {
    const bf16 *q, *k, *v;
    bf16* out;
    int queries, keys;
    bool causal;

    // The keys that a query sees are the first so many, which is none where it is not above 0.
    __device__ int seen_by(int query) const { return causal ? lesser(keys, query + 1 + keys - queries) : keys; }
    // Those that some of these queries see.
    __device__ int seen_by_any(int first, int count) const { return seen_by(lesser(first + count, queries) - 1); }

    __device__ const bf16* head_of_q(long long head, int dim) const { return q + head * queries * dim; }
    __device__ const bf16* head_of_k(long long head, int dim) const { return k + head * keys * dim; }
    __device__ const bf16* head_of_v(long long head, int dim) const { return v + head * keys * dim; }
    __device__ bf16* head_of_out(long long head, int dim) const { return out + head * queries * dim; }
};

using Launch = cudaError_t (*)(const Attention&, long long heads, cudaStream_t);

inline int tiles_of(const Attention& a, int rows) { return (a.queries - 1) / rows + 1; }
// So many blocks of `rows` queries for all heads; 0 if they are more than a grid has.
inline long long blocks_of(const Attention& a, long long heads, int rows) {
    const int tiles = tiles_of(a, rows);
    return heads <= INT_MAX / tiles ? heads * tiles : 0;
}

// By which scores are multiplied to be exponents of 2.
inline float factor_of(int dim) { return static_cast<float>(1.4426950408889634 / std::sqrt(static_cast<double>(dim))); }

inline bool is_aligned(const Attention& a) {
    const auto bits = [](const void* pointer) { return reinterpret_cast<unsigned long long>(pointer); };
    return (bits(a.q) | bits(a.k) | bits(a.v) | bits(a.out)) % 16 == 0;
}

// Refuses what no version can serve, and launches where there is something to do.
inline cudaError_t checked_launch(const bf16* q, const bf16* k, const bf16* v, bf16* out, long long batch,
                                  long long heads, long long queries, long long keys, long long dim, long long causal,
                                  cudaStream_t stream, Launch of_64, Launch of_128) {
    if (batch < 0 || heads < 0 || batch > INT_MAX || heads > INT_MAX) return cudaErrorInvalidValue;
    if (queries < 0 || keys < 0 || queries > MOST_ROWS || keys > MOST_ROWS) return cudaErrorInvalidValue;
    if ((dim != 64 && dim != 128) || (causal != 0 && causal != 1)) return cudaErrorInvalidValue;
    if (batch == 0 || heads == 0 || queries == 0) return cudaSuccess;
    const Attention a = {q, k, v, out, static_cast<int>(queries), static_cast<int>(keys), causal == 1};
    if (!is_aligned(a)) return cudaErrorMisalignedAddress;
    return (dim == 64 ? of_64 : of_128)(a, batch * heads, stream);
}
