// What a linear layer with GELU is given, and what all versions do with a sum of products once it is whole.
#pragma once
#include <climits>
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

using bf16 = __nv_bfloat16;

constexpr int WARP = 32;
constexpr int CHUNK = 8;  // elements of 16 bytes
constexpr long long LONGEST = 1 << 30;  // a tile further on is still an int

// x [m, k], weight [n, k] and out [m, n] are row-major.
struct Layer {
    const bf16 *x, *weight, *bias;
    bf16* out;
    int m, n, k;
};

// x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3) is x / (1 + exp(-2 u)). An infinite power makes 0.
__device__ inline float gelu(float x) {
    constexpr float LINEAR = -2.302208198f, CUBIC = 0.044715f * LINEAR;  // -2 sqrt(2 / pi) log2(e)
    return __fdividef(x, 1.0f + exp2f(x * (LINEAR + CUBIC * x * x)));
}

__device__ inline float bias_at(const Layer& layer, int col) {
    return col < layer.n ? __bfloat162float(layer.bias[col]) : 0.0f;
}

// Eight elements of a row, zeros where the matrix has none. ALIGNED: rows start on 16 bytes, so that they are there all
// or none.
template <bool ALIGNED>
__device__ inline uint4 chunk_at(const bf16* matrix, int row, int rows, int col, int cols) {
    uint4 chunk = {};
    if (row >= rows || col >= cols) return chunk;
    const bf16* from = matrix + static_cast<long long>(row) * cols + col;
    if (ALIGNED) return *reinterpret_cast<const uint4*>(from);
    unsigned words[CHUNK / 2] = {};
#pragma unroll
    for (int i = 0; i < CHUNK; ++i) {
        const unsigned element = col + i < cols ? __bfloat16_as_ushort(from[i]) : 0;
        words[i / 2] |= element << 16 * (i % 2);
    }
    return {words[0], words[1], words[2], words[3]};
}

// Rows of all matrices start on as many bytes as `alignment` says.
inline bool is_aligned(const Layer& layer, unsigned alignment) {
    const uintptr_t starts = reinterpret_cast<uintptr_t>(layer.x) | reinterpret_cast<uintptr_t>(layer.weight) |
                             reinterpret_cast<uintptr_t>(layer.bias) | reinterpret_cast<uintptr_t>(layer.out);
    return starts % alignment == 0 && layer.n % CHUNK == 0 && layer.k % CHUNK == 0;
}

// Blocks of TALL x WIDE outputs that cover all; -1 where they cannot be launched, or sizes are none.
template <int TALL, int WIDE>
inline long long blocks_of(long long m, long long n, long long k) {
    if (m < 0 || n < 0 || k < 0 || m > LONGEST || n > LONGEST || k > LONGEST) return -1;
    const long long blocks = ((m + TALL - 1) / TALL) * ((n + WIDE - 1) / WIDE);
    return blocks > INT_MAX ? -1 : blocks;
}
