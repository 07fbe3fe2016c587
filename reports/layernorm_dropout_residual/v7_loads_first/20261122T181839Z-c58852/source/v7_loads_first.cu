// Changes, to v6: the residual is loaded together with x, before the sums: twice the bytes in flight while a block
// waits.
//
// expected: `at-dram-roofline` at c4k: 32 KB a block, four or five blocks an SM; 1.05 to 1.15 times v6, 0.9 to 0.97 of
//   the copy. In bfloat16 0.85 to 0.95: half of the bytes for as many draws and sums. one_row 0.5 us less than v6.
// measured: 185.4 us at c4k_f32, 1.02 of the copy; 100.4 at c4k_bf16, 0.945. 2.27 times slower than v6 at c24, where
//   idle threads draw.
#include "drawn.cuh"

template <typename T, typename Raw, int PACKS>
__global__ void __launch_bounds__(THREADS)
    loads_first(const Raw* __restrict__ x, const Raw* __restrict__ residual, const Raw* __restrict__ gamma,
                const Raw* __restrict__ beta, Raw* __restrict__ out, int cols,
                const __grid_constant__ Dropout dropout) {
    __shared__ float room[2][Shuffles::ROOM];
    const int packs = cols / SIZE<T, Raw>;
    const long long start = static_cast<long long>(blockIdx.x) * packs;
    float value[PACKS][SIZE<T, Raw>] = {}, sum = 0.0f, squares = 0.0f;
    Raw addend[PACKS] = {};
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        const int i = threadIdx.x + k * THREADS;
        if (i >= packs) break;
        unpack(x[start + i], value[k]);
        addend[k] = residual[start + i];
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
        out[start + i] =
            results<T, Raw>(value[k], addend[k], gamma[i], beta[i], row, dropout.scale, kept >> k * SIZE<T, Raw>);
    }
}

struct LoadsFirst {
    template <typename T, typename Raw>
    static cudaError_t by(const Call& call) {
        const long long each = (call.cols - 1) / THREADS + 1;  // columns a thread
        if (each <= 8) return a_block_a_row<T, Raw>(loads_first<T, Raw, 8 / SIZE<T, Raw>>, call);
        if (each <= 16) return a_block_a_row<T, Raw>(loads_first<T, Raw, 16 / SIZE<T, Raw>>, call);
        if (each <= MOST_VALUES) return a_block_a_row<T, Raw>(loads_first<T, Raw, MOST_VALUES / SIZE<T, Raw>>, call);
        return a_block_a_row<T, Raw>(read_again<T, Raw>, call);
    }
};

extern "C" cudaError_t layernorm_dropout_residual(const void* x, const void* residual, const void* gamma,
                                                  const void* beta, void* out, long long rows, long long cols,
                                                  long long keep, long long seed, long long width,
                                                  cudaStream_t stream) {
    return launched<LoadsFirst>(x, residual, gamma, beta, out, rows, cols, keep, seed, width, stream);
}
