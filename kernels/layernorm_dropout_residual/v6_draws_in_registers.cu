// Changes, to v5: no mask is stored. A thread draws for its own elements, a call of Philox a pack, and keeps a bit an
// element in one register. One kernel, three passes.
//
// expected: the big step, 2 to 2.8 times v5 at c4k: five passes become three, and the calls eight or four times fewer.
//   0.75 to 0.9 of the copy in float32: loads of the residual wait for the second sum, so between two sums an SM asks
//   for nothing, `low-bytes-in-flight` or `at-dram-roofline`. At c4093, a call an element, thirty per cent less than
//   that: `pipe-bound`.
// measured: 205 us at c4k_f32, 3.25 times v5, 0.93 of the copy; 108 at c4k_bf16, 5.15 times, 0.88. At c4093 0.51 and
//   0.30.
#include "drawn.cuh"

template <typename T, typename Raw, int PACKS>
__global__ void __launch_bounds__(THREADS)
    draws_in_registers(const Raw* __restrict__ x, const Raw* __restrict__ residual, const Raw* __restrict__ gamma,
                       const Raw* __restrict__ beta, Raw* __restrict__ out, int cols,
                       const __grid_constant__ Dropout dropout) {
    __shared__ float room[2][Shuffles::ROOM];
    const int packs = cols / SIZE<T, Raw>;
    const long long start = static_cast<long long>(blockIdx.x) * packs;
    float value[PACKS][SIZE<T, Raw>] = {}, sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        const int i = threadIdx.x + k * THREADS;
        if (i < packs) unpack(x[start + i], value[k]);
    }
    unsigned kept = 0;
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        kept |= kept_of_pack<SIZE<T, Raw>>(dropout, threadIdx.x + k * THREADS, blockIdx.x) << k * SIZE<T, Raw>;
    }
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        for (const float each : value[k]) sum += each;
    }
    const float mean = Shuffles::over_block(sum, room[0]) / cols;
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        for (const float each : value[k])
            squares += threadIdx.x + k * THREADS < packs ? (each - mean) * (each - mean) : 0;
    }
    const Row row = row_of(mean, Shuffles::over_block(squares, room[1]), cols);
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        const int i = threadIdx.x + k * THREADS;
        if (i >= packs) break;
        out[start + i] = results<T, Raw>(value[k], residual[start + i], gamma[i], beta[i], row, dropout.scale,
                                         kept >> k * SIZE<T, Raw>);
    }
}

struct DrawsInRegisters {
    template <typename T, typename Raw>
    static cudaError_t by(const Call& call) {
        const long long each = (call.cols - 1) / THREADS + 1;  // columns a thread
        if (each <= 8) return a_block_a_row<T, Raw>(draws_in_registers<T, Raw, 8 / SIZE<T, Raw>>, call);
        if (each <= 16) return a_block_a_row<T, Raw>(draws_in_registers<T, Raw, 16 / SIZE<T, Raw>>, call);
        if (each <= MOST_VALUES)
            return a_block_a_row<T, Raw>(draws_in_registers<T, Raw, MOST_VALUES / SIZE<T, Raw>>, call);
        return a_block_a_row<T, Raw>(read_again<T, Raw>, call);
    }
};

extern "C" cudaError_t layernorm_dropout_residual(const void* x, const void* residual, const void* gamma,
                                                  const void* beta, void* out, long long rows, long long cols,
                                                  long long keep, long long seed, long long width,
                                                  cudaStream_t stream) {
    return launched<DrawsInRegisters>(x, residual, gamma, beta, out, rows, cols, keep, seed, width, stream);
}
