// Changes: a warp a token, its lanes side by side.
//
// expected: `host-link-bound`. 16 sectors a request, all of them used. A token is 41 accesses: 32 lanes, then nine;
//   the second load waits for the store of the first, and so for the first load, but 64 warps an SM on 132 SMs have
//   far more under way than the link needs. 45 to 49 GB/s: a token starts anywhere in a line, and lines are asked for
//   in pieces.
#include <climits>
#include <cuda_runtime.h>

constexpr int THREADS = 256;
constexpr int LANES = 32;

__global__ void __launch_bounds__(THREADS)
    gather_by_warps(const uint4* table, const long long* src, const long long* dst, uint4* out, long long tokens,
                    long long packs) {
    const long long i = (static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x) / LANES;
    if (i >= tokens) return;
    const uint4* from = table + src[i] * packs;
    uint4* to = out + dst[i] * packs;
#pragma unroll 1
    for (long long k = threadIdx.x % LANES; k < packs; k += LANES) to[k] = from[k];
}

extern "C" cudaError_t fast_h2d(const uint4* table, const long long* src, const long long* dst,
                                const long long* /*src_host*/, const long long* /*dst_host*/, uint4* out,
                                long long tokens, long long /*rows*/, long long width, long long /*grid*/,
                                long long /*block*/, cudaStream_t stream) {
    if (tokens < 0 || width < 0 || width % 16) return cudaErrorInvalidValue;
    if ((reinterpret_cast<size_t>(table) | reinterpret_cast<size_t>(out)) % 16) return cudaErrorMisalignedAddress;
    if (tokens == 0 || width == 0) return cudaSuccess;
    const long long blocks = (tokens - 1) / (THREADS / LANES) + 1;
    if (blocks > INT_MAX) return cudaErrorInvalidValue;
    gather_by_warps<<<blocks, THREADS, 0, stream>>>(table, src, dst, out, tokens, width / 16);
    return cudaGetLastError();
}
