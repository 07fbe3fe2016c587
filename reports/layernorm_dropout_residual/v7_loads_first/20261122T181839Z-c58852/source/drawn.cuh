// What versions that draw in registers share: the bits of a pack, and rows that do not fit.
#pragma once
#include "calling.cuh"
#include "sums.cuh"

constexpr int MOST_VALUES = 32;  // of a row, that a thread holds, and bits of what it keeps

// Which elements of a pack are kept, the first in bit 0. It lies within the columns of one call.
template <int SIZE>
__device__ inline unsigned kept_of_pack(const Dropout& dropout, unsigned pack, unsigned row) {
    const unsigned col = pack * SIZE;
    return kept_of(dropout, col / DRAWS, row) >> col % DRAWS & ((1u << SIZE) - 1);
}

// A block a row, read three times.
template <typename T, typename Raw>
__global__ void __launch_bounds__(THREADS)
    read_again(const Raw* __restrict__ x, const Raw* __restrict__ residual, const Raw* __restrict__ gamma,
               const Raw* __restrict__ beta, Raw* __restrict__ out, int cols, const __grid_constant__ Dropout dropout) {
    __shared__ float room[2][Shuffles::ROOM];
    const int packs = cols / SIZE<T, Raw>;
    const long long start = static_cast<long long>(blockIdx.x) * packs;
    float value[SIZE<T, Raw>], sum = 0.0f, squares = 0.0f;
    for (int i = threadIdx.x; i < packs; i += THREADS) {
        unpack(x[start + i], value);
        for (const float each : value) sum += each;
    }
    const float mean = Shuffles::over_block(sum, room[0]) / cols;
    for (int i = threadIdx.x; i < packs; i += THREADS) {
        unpack(x[start + i], value);
        for (const float each : value) squares += (each - mean) * (each - mean);
    }
    const Row row = row_of(mean, Shuffles::over_block(squares, room[1]), cols);
    for (int i = threadIdx.x; i < packs; i += THREADS) {
        unpack(x[start + i], value);
        const unsigned kept = kept_of_pack<SIZE<T, Raw>>(dropout, i, blockIdx.x);
        out[start + i] = results<T, Raw>(value, residual[start + i], gamma[i], beta[i], row, dropout.scale, kept);
    }
}

template <typename T, typename Raw, typename Kernel>
cudaError_t a_block_a_row(Kernel kernel, const Call& call) {
    const cudaStream_t stream = call.stream;
    kernel<<<call.rows, THREADS, 0, stream>>>(static_cast<const Raw*>(call.x), static_cast<const Raw*>(call.residual),
                                              static_cast<const Raw*>(call.gamma), static_cast<const Raw*>(call.beta),
                                              static_cast<Raw*>(call.out), call.cols, call.dropout);
    return cudaGetLastError();
}
