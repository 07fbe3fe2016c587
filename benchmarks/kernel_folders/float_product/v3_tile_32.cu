// Changes: 32 x 32 tiles.
//
// expected: half of v2's sectors of L2, and shared memory as busy: `l1-bound`, no faster by much.
#include "shared_tile.cuh"

extern "C" cudaError_t float_product(const float *a, const float *b, float *c, long long m, long long n, long long k,
                                     cudaStream_t stream) {
    return launch_shared_tile<32>({a, b, c, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k)}, stream);
}
