// GELU by one instruction of the special-function unit (PTX ISA, "tanh.approx"), for compute capability 7.5 and above.
#pragma once
#include <cuda_runtime.h>

// x (1 + tanh(u)) / 2. The instruction is off by up to 2^-11, an output by 2^-12 of x: an eighth of a rounding.
__device__ inline float gelu_by_tanh(float x) {
    constexpr float LINEAR = 0.7978845608f, CUBIC = 0.044715f * LINEAR;  // sqrt(2 / pi)
    const float half = 0.5f * x;
    float tanh;
    asm("tanh.approx.f32 %0, %1;" : "=f"(tanh) : "f"(x * (LINEAR + CUBIC * x * x)));
    return half + half * tanh;
}
