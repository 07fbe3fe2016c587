// Changes: plain CUDA C, a thread copies a token byte by byte, as the loop is first written down.
//
// expected: `uncoalesced-global-load`. The lanes of a warp read 32 tokens: 32 sectors a request for 32 bytes, each
//   byte an access of its own. Sectors are fetched across the link again and again, as 2048 threads on an SM touch
//   more lines than L1 holds. 1 to 2 GB/s.
#include <climits>
#include <cuda_runtime.h>

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS)
    gather_bytes(const unsigned char* table, const long long* src, const long long* dst, unsigned char* out,
                 long long tokens, long long width) {
    const long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
    if (i >= tokens) return;
    const unsigned char* from = table + src[i] * width;
    unsigned char* to = out + dst[i] * width;
#pragma unroll 1
    for (long long k = 0; k < width; ++k) to[k] = from[k];
}

extern "C" cudaError_t fast_h2d(const unsigned char* table, const long long* src, const long long* dst,
                                const long long* /*src_host*/, const long long* /*dst_host*/, unsigned char* out,
                                long long tokens, long long /*rows*/, long long width, long long /*grid*/,
                                long long /*block*/, cudaStream_t stream) {
    if (tokens < 0 || width < 0) return cudaErrorInvalidValue;
    if (tokens == 0 || width == 0) return cudaSuccess;
    const long long blocks = (tokens - 1) / THREADS + 1;
    if (blocks > INT_MAX) return cudaErrorInvalidValue;
    gather_bytes<<<blocks, THREADS, 0, stream>>>(table, src, dst, out, tokens, width);
    return cudaGetLastError();
}
