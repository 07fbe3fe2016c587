// Versions that store which elements are kept: a first kernel writes a matrix of ones and zeros. It has no place but
// `out`, which the second reads before it writes.
#pragma once
#include "calling.cuh"
#include "sums.cuh"

constexpr int MOST_VALUES = 32;  // of a row, that a thread holds

template <typename T>
__global__ void __launch_bounds__(THREADS)
    store_mask(T* __restrict__ out, long long elements, int cols, const __grid_constant__ Dropout dropout) {
    const long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
    if (i >= elements) return;
    const long long row = i / cols;
    const unsigned col = static_cast<unsigned>(i - row * cols);
    const unsigned kept = kept_of(dropout, col / DRAWS, static_cast<unsigned>(row));
    const float one[1] = {kept >> col % DRAWS & 1 ? 1.0f : 0.0f};
    pack(one, out[i]);
}

// A block a row, an element an access, the row read three times.
template <typename T, typename Sum>
__global__ void __launch_bounds__(THREADS)
    three_passes(const T* __restrict__ x, const T* __restrict__ residual, const T* __restrict__ gamma,
                 const T* __restrict__ beta, T* __restrict__ out, int cols, float scale) {
    __shared__ float room[2][Sum::ROOM];
    const long long start = static_cast<long long>(blockIdx.x) * cols;
    float value[1];
    float sum = 0.0f;
    for (int col = threadIdx.x; col < cols; col += THREADS) {
        unpack(x[start + col], value);
        sum += value[0];
    }
    const float mean = Sum::over_block(sum, room[0]) / cols;
    float squares = 0.0f;
    for (int col = threadIdx.x; col < cols; col += THREADS) {
        unpack(x[start + col], value);
        squares += (value[0] - mean) * (value[0] - mean);
    }
    const Row row = row_of(mean, Sum::over_block(squares, room[1]), cols);
    for (int col = threadIdx.x; col < cols; col += THREADS) {
        float mask[1];
        unpack(x[start + col], value);
        unpack(out[start + col], mask);
        out[start + col] =
            results<T, T>(value, residual[start + col], gamma[col], beta[col], row, scale, mask[0] != 0.0f);
    }
}

// A block a row, which stays in registers between statistics and result. cols counts columns, packs their packs.
template <typename T, typename Raw, int PACKS, typename Sum>
__global__ void __launch_bounds__(THREADS)
    row_in_registers(const Raw* __restrict__ x, const Raw* __restrict__ residual, const Raw* __restrict__ gamma,
                     const Raw* __restrict__ beta, Raw* __restrict__ out, int cols, float scale) {
    __shared__ float room[2][Sum::ROOM];
    const int packs = cols / SIZE<T, Raw>;
    const long long start = static_cast<long long>(blockIdx.x) * packs;
    float value[PACKS][SIZE<T, Raw>] = {}, sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        const int i = threadIdx.x + k * THREADS;
        if (i < packs) unpack(x[start + i], value[k]);
    }
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
#pragma unroll
        for (const float each : value[k]) sum += each;
    }
    const float mean = Sum::over_block(sum, room[0]) / cols;
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
#pragma unroll
        for (const float each : value[k])
            squares += threadIdx.x + k * THREADS < packs ? (each - mean) * (each - mean) : 0;
    }
    const Row row = row_of(mean, Sum::over_block(squares, room[1]), cols);
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        const int i = threadIdx.x + k * THREADS;
        if (i >= packs) break;
        float mask[SIZE<T, Raw>];
        unpack(out[start + i], mask);
        unsigned kept = 0;
#pragma unroll
        for (int n = 0; n < SIZE<T, Raw>; ++n) kept |= (mask[n] != 0.0f ? 1u : 0u) << n;
        out[start + i] = results<T, Raw>(value[k], residual[start + i], gamma[i], beta[i], row, scale, kept);
    }
}

template <typename T>
cudaError_t mask_stored(const Call& call) {
    const long long elements = call.rows * call.cols, blocks = (elements - 1) / THREADS + 1;
    if (blocks > INT_MAX) return cudaErrorInvalidValue;
    const auto kernel = store_mask<T>;
    const cudaStream_t stream = call.stream;
    kernel<<<blocks, THREADS, 0, stream>>>(static_cast<T*>(call.out), elements, call.cols, call.dropout);
    return cudaGetLastError();
}

template <typename T, typename Raw, typename Kernel>
cudaError_t second(Kernel kernel, const Call& call) {
    const cudaError_t status = mask_stored<T>(call);
    if (status != cudaSuccess) return status;
    const cudaStream_t stream = call.stream;
    kernel<<<call.rows, THREADS, 0, stream>>>(static_cast<const Raw*>(call.x), static_cast<const Raw*>(call.residual),
                                              static_cast<const Raw*>(call.gamma), static_cast<const Raw*>(call.beta),
                                              static_cast<Raw*>(call.out), call.cols, call.dropout.scale);
    return cudaGetLastError();
}

// Rows that fit, in registers; longer ones read three times.
template <typename T, typename Raw, typename Sum>
cudaError_t held(const Call& call) {
    const long long each = (call.cols - 1) / THREADS + 1;  // columns a thread
    if (each <= 8) return second<T, Raw>(row_in_registers<T, Raw, 8 / SIZE<T, Raw>, Sum>, call);
    if (each <= 16) return second<T, Raw>(row_in_registers<T, Raw, 16 / SIZE<T, Raw>, Sum>, call);
    if (each <= MOST_VALUES) return second<T, Raw>(row_in_registers<T, Raw, MOST_VALUES / SIZE<T, Raw>, Sum>, call);
    return second<T, T>(three_passes<T, Sum>, call);
}
