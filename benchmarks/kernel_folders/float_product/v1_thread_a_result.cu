// Changes: CUDA, a thread a result, both operands of each multiply-add loaded from global memory.
//
// expected: `l1-bound`: two wavefronts of L1 for each multiply-add of a warp, of which four fit into one cycle.
#include "product.cuh"

__global__ void __launch_bounds__(256) thread_a_result(Product p) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    const float *row = p.a + static_cast<size_t>(y) * p.k;
    float sum = 0;
    for (int k = 0; k < p.k; ++k) sum = fmaf(row[k], p.b[static_cast<size_t>(k) * p.n + x], sum);
    p.c[static_cast<size_t>(y) * p.n + x] = sum;
}

extern "C" cudaError_t float_product(const float *a, const float *b, float *c, long long m, long long n, long long k,
                                     cudaStream_t stream) {
    const Product p{a, b, c, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k)};
    if (!fits(p, 8, 32, 1)) return cudaErrorInvalidValue;
    thread_a_result<<<dim3(p.n / 32, p.m / 8), dim3(32, 8), 0, stream>>>(p);
    return cudaGetLastError();
}
