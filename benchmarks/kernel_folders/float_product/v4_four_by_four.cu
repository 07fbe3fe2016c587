// Changes: 4 x 4 results a thread in registers, 64 x 64 a block.
//
// expected: six wavefronts of 16-byte loads for sixteen multiply-adds, which take four cycles: `l1-bound`, 3 times v3.
#include "register_tile.cuh"

extern "C" cudaError_t float_product(const float *a, const float *b, float *c, long long m, long long n, long long k,
                                     cudaStream_t stream) {
    return launch_register_tile<4>({a, b, c, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k)}, stream);
}
