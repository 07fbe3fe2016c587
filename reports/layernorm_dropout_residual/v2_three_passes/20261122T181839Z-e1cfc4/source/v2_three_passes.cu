// Changes: CUDA, as one writes it first. A kernel stores a mask of ones and zeros, in `out` for want of another place,
// an element a thread with a call of Philox each. A second one has a block a row: a pass for the mean, one for the
// variance, one that writes, an element an access, sums in a tree through shared memory.
//
// expected: the mask is written and read, five passes for three, `redundant-traffic`; x comes from DRAM once, for L1
//   holds the rows of 16 KB that an SM works on. Eighteen barriers a row, `barrier-stall`. A thread has one draw of the
//   eight that it makes, some seventy instructions: the mask's kernel takes 120 to 170 us, bound by them rather than by
//   its bytes. 0.25 to 0.35 of the copy in float32, 0.15 to 0.25 in bfloat16, behind v1. At c128k a row takes 512 KB,
//   and 64 rows in work no longer fit in L2 with all that is written: up to seven passes.
// measured: 691 us at c4k_f32 and 617 at c4k_bf16, 0.27 and 0.15 of the copy; the mask's kernel 416 and 424 us of it,
//   with 135 instructions.
#include "stored_mask.cuh"

struct ThreePasses {
    template <typename T, typename Raw>
    static cudaError_t by(const Call& call) {
        return second<T, T>(three_passes<T, Tree>, call);
    }
};

extern "C" cudaError_t layernorm_dropout_residual(const void* x, const void* residual, const void* gamma,
                                                  const void* beta, void* out, long long rows, long long cols,
                                                  long long keep, long long seed, long long width,
                                                  cudaStream_t stream) {
    return launched<ThreePasses>(x, residual, gamma, beta, out, rows, cols, keep, seed, width, stream);
}
