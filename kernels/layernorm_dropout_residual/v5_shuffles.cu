// Changes, to v4: sums by shuffles between lanes, one barrier a sum instead of nine.
//
// expected: `barrier-stall` gone where it was; 1.02 to 1.1 times v4, for other blocks of the SM filled the waits: five
//   or more of them. Still `redundant-traffic`. One row waits for nobody but itself: at one_row 1 us less.
// measured: 1.007 times v4 at c4k_f32 (666 us) and at c4k_bf16 (554): less than predicted. 1.04 and 1.16 at c4093.
#include "stored_mask.cuh"

struct ByShuffles {
    template <typename T, typename Raw>
    static cudaError_t by(const Call& call) {
        return held<T, Raw, Shuffles>(call);
    }
};

extern "C" cudaError_t layernorm_dropout_residual(const void* x, const void* residual, const void* gamma,
                                                  const void* beta, void* out, long long rows, long long cols,
                                                  long long keep, long long seed, long long width,
                                                  cudaStream_t stream) {
    return launched<ByShuffles>(x, residual, gamma, beta, out, rows, cols, keep, seed, width, stream);
}
