// Changes, to v7: a call of Philox draws for eight elements, whoever has them: the lanes of a warp divide the calls
// among themselves and exchange the bits by shuffles. Half as many calls in float32, an eighth where accesses are
// single.
//
// expected: nothing at c4k in float32, where integer work hides behind the bytes, and nothing in bfloat16, where a pack
//   has eight elements already. At c4093 1.2 to 1.5 times v7.
// measured: level with v7 at c4k_f32; 1.09 times slower at c4k_bf16 (109.4 us), wrong. At c4093 1.71 and 1.57 times v7.
#include "shared_calls.cuh"

template <typename T, typename Raw, int PACKS>
__global__ void __launch_bounds__(THREADS)
    shared_calls(const Raw* __restrict__ x, const Raw* __restrict__ residual, const Raw* __restrict__ gamma,
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
    const unsigned of_warp = threadIdx.x / WARP * WARP;
    const unsigned kept = kept_of_lane<SIZE<T, Raw>, PACKS>(dropout, of_warp, THREADS, blockIdx.x);
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

struct SharedCalls {
    template <typename T, typename Raw>
    static cudaError_t by(const Call& call) {
        const long long each = (call.cols - 1) / THREADS + 1;  // columns a thread
        if (each <= 8) return a_block_a_row<T, Raw>(shared_calls<T, Raw, 8 / SIZE<T, Raw>>, call);
        if (each <= 16) return a_block_a_row<T, Raw>(shared_calls<T, Raw, 16 / SIZE<T, Raw>>, call);
        if (each <= MOST_VALUES) return a_block_a_row<T, Raw>(shared_calls<T, Raw, MOST_VALUES / SIZE<T, Raw>>, call);
        return a_block_a_row<T, Raw>(read_again<T, Raw>, call);
    }
};

extern "C" cudaError_t layernorm_dropout_residual(const void* x, const void* residual, const void* gamma,
                                                  const void* beta, void* out, long long rows, long long cols,
                                                  long long keep, long long seed, long long width,
                                                  cudaStream_t stream) {
    return launched<SharedCalls>(x, residual, gamma, beta, out, rows, cols, keep, seed, width, stream);
}
