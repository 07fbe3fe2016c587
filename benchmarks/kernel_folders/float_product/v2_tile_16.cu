// Changes: 16 x 16 tiles of both operands in shared memory.
//
// expected: `l1-bound`: L2 gives a sixteenth, but shared memory still more than a wavefront a multiply-add.
#include "shared_tile.cuh"

extern "C" cudaError_t float_product(const float *a, const float *b, float *c, long long m, long long n, long long k,
                                     cudaStream_t stream) {
    return launch_shared_tile<16>({a, b, c, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k)}, stream);
}
