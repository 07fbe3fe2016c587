// Changes, to v2: a row of up to 8192 columns stays in registers between its statistics and its result: x is read once.
//
// expected: nothing or little at c4k, for L1 served the reads that are saved; what is left is the mask,
//   `redundant-traffic`, and a loop less of instructions. 1.0 to 1.15 times v2. At c128k rows do not fit: as v2.
// measured: a step back, 1.14 times slower than v2 at c4k_f32 (785 us), 1.37 at c4k_bf16 (846): 64 registers leave half
//   of the warps.
#include "stored_mask.cuh"

struct RowInRegisters {
    template <typename T, typename Raw>
    static cudaError_t by(const Call& call) {
        return held<T, T, Tree>(call);
    }
};

extern "C" cudaError_t layernorm_dropout_residual(const void* x, const void* residual, const void* gamma,
                                                  const void* beta, void* out, long long rows, long long cols,
                                                  long long keep, long long seed, long long width,
                                                  cudaStream_t stream) {
    return launched<RowInRegisters>(x, residual, gamma, beta, out, rows, cols, keep, seed, width, stream);
}
