// Changes: 8 x 8 results a thread, 128 x 128 a block.
//
// expected: twelve wavefronts in the sixteen cycles of its multiply-adds: the FMA pipe is the busiest, 1.4 times v4.
#include "register_tile.cuh"

extern "C" cudaError_t float_product(const float *a, const float *b, float *c, long long m, long long n, long long k,
                                     cudaStream_t stream) {
    return launch_register_tile<8>({a, b, c, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k)}, stream);
}
