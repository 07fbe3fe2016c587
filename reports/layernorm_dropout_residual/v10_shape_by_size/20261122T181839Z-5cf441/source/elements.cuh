// Elements of either dtype, alone or 16 bytes at a time, as floats and back; and what is computed of one.
#pragma once
#include <cuda_bf16.h>
#include <cuda_runtime.h>

using bf16 = __nv_bfloat16;

constexpr float EPS = 1e-5f;

template <typename T, typename Raw>
constexpr int SIZE = sizeof(Raw) / sizeof(T);

__device__ inline void unpack(const uint4& raw, float (&value)[4]) {
    value[0] = __uint_as_float(raw.x), value[1] = __uint_as_float(raw.y);
    value[2] = __uint_as_float(raw.z), value[3] = __uint_as_float(raw.w);
}
__device__ inline void unpack(const uint4& raw, float (&value)[8]) {
    const unsigned word[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
    for (int k = 0; k < 4; ++k) {  // a bfloat16 is the upper half of a float
        value[2 * k] = __uint_as_float(word[k] << 16);
        value[2 * k + 1] = __uint_as_float(word[k] & 0xffff0000u);
    }
}
__device__ inline void unpack(float raw, float (&value)[1]) { value[0] = raw; }
__device__ inline void unpack(bf16 raw, float (&value)[1]) { value[0] = __bfloat162float(raw); }

__device__ inline unsigned two(float low, float high) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return reinterpret_cast<const unsigned&>(pair);
}
__device__ inline void pack(const float (&value)[4], uint4& raw) {
    raw = make_uint4(__float_as_uint(value[0]), __float_as_uint(value[1]), __float_as_uint(value[2]),
                     __float_as_uint(value[3]));
}
__device__ inline void pack(const float (&value)[8], uint4& raw) {
    raw =
        make_uint4(two(value[0], value[1]), two(value[2], value[3]), two(value[4], value[5]), two(value[6], value[7]));
}
__device__ inline void pack(const float (&value)[1], float& raw) { raw = value[0]; }
__device__ inline void pack(const float (&value)[1], bf16& raw) { raw = __float2bfloat16(value[0]); }

// What a row is normalized with.
struct Row {
    float mean, inverse;
};

__device__ inline Row row_of(float mean, float squares, int cols) { return {mean, rsqrtf(squares / cols + EPS)}; }

__device__ inline float result(float x, float residual, float gamma, float beta, Row row, float scale, bool kept) {
    const float y = (x - row.mean) * row.inverse * gamma + beta;
    return kept ? residual + y * scale : residual;
}

// The same for a pack; bit k of `kept` tells of its element k.
template <typename T, typename Raw>
__device__ inline Raw results(const float (&x)[SIZE<T, Raw>], const Raw& residual, const Raw& gamma, const Raw& beta,
                              Row row, float scale, unsigned kept) {
    float r[SIZE<T, Raw>], g[SIZE<T, Raw>], b[SIZE<T, Raw>];
    unpack(residual, r);
    unpack(gamma, g);
    unpack(beta, b);
#pragma unroll
    for (int k = 0; k < SIZE<T, Raw>; ++k) r[k] = result(x[k], r[k], g[k], b[k], row, scale, kept >> k & 1);
    Raw out;
    pack(r, out);
    return out;
}
