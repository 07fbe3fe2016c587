// Changes, to v3: 128 bits an access, where rows start on 16 bytes.
//
// expected: the second kernel becomes bound by its bytes, four passes: 1.1 to 1.25 times v3 at c4k in float32, more in
//   bfloat16, where an access had 2 bytes a thread. The mask stays `redundant-traffic` and its kernel as slow as it
//   was, half of the time. At c4093 nothing: no address fits.
// measured: 1.17 times v3 at c4k_f32 (670 us), 1.52 at c4k_bf16 (558), nothing at c4093. The mask's kernel is 63 and 77
//   % of it.
#include "stored_mask.cuh"

struct Wide {
    template <typename T, typename Raw>
    static cudaError_t by(const Call& call) {
        return held<T, Raw, Tree>(call);
    }
};

extern "C" cudaError_t layernorm_dropout_residual(const void* x, const void* residual, const void* gamma,
                                                  const void* beta, void* out, long long rows, long long cols,
                                                  long long keep, long long seed, long long width,
                                                  cudaStream_t stream) {
    return launched<Wide>(x, residual, gamma, beta, out, rows, cols, keep, seed, width, stream);
}
