// From the launcher's arguments to a kernel for their dtype, their addresses and the length of their rows.
#pragma once
#include <climits>
#include <cstdint>

#include "dropout.cuh"
#include "elements.cuh"

constexpr long long MOST_COLS = 1 << 30;

struct Call {
    const void *x, *residual, *gamma, *beta;
    void* out;
    long long rows;
    int cols;
    Dropout dropout;
    cudaStream_t stream;
};

inline uintptr_t addresses_of(const Call& call) {
    const void* all[] = {call.x, call.residual, call.gamma, call.beta, call.out};
    uintptr_t together = 0;
    for (const void* one : all) together |= reinterpret_cast<uintptr_t>(one);
    return together;
}

// Ways::by<T, Raw>(call) launches for elements T in accesses of Raw: 16 bytes where every row starts on 16.
template <typename Ways, typename T>
cudaError_t of_dtype(const Call& call) {
    const uintptr_t addresses = addresses_of(call);
    if (addresses % sizeof(T)) return cudaErrorMisalignedAddress;
    if (addresses % sizeof(uint4) || call.cols % SIZE<T, uint4>) return Ways::template by<T, T>(call);
    return Ways::template by<T, uint4>(call);
}

template <typename Ways>
cudaError_t launched(const void* x, const void* residual, const void* gamma, const void* beta, void* out,
                     long long rows, long long cols, long long keep, long long seed, long long width,
                     cudaStream_t stream) {
    if (rows < 0 || cols < 0 || rows > INT_MAX || cols > MOST_COLS) return cudaErrorInvalidValue;
    if (keep < 0 || keep > KEEP_OF || (width != 2 && width != 4)) return cudaErrorInvalidValue;
    if (rows == 0 || cols == 0) return cudaSuccess;
    const Call call = {x, residual, gamma, beta, out, rows, static_cast<int>(cols), dropout_of(keep, seed), stream};
    return width == 4 ? of_dtype<Ways, float>(call) : of_dtype<Ways, bf16>(call);
}
