// Changes: eight elements a thread, "unrolled" as four half2, in blocks of 32 threads: the form in which this step is
// taught. A thread's four pairs are neighbours, so the lanes of each access are 16 bytes apart.
// dtypes: float16
//
// expected: `uncoalesced-global-load`, and the same of the store. Each request touches 16 sectors and uses 4 of the 32
//   bytes that a lane's pair shares with three later requests, a quarter of every sector. The three later loads hit in
//   L1; the stores do not merge there, so L2 takes 64 sectors of partial writes for 16. It is sold as an improvement on
//   v6: more bytes in flight (32 warps of 2 x 512 bytes, 32 KB on an SM) against four times the requests and twice
//   the blocks that an SM has to start. No better than v6: 0.5 to 0.8 of the copy at 2^26.
// measured: 161.5 us, 0.59 of the copy: 1.38 times slower than v6, and as fast as v8 to the tick.
#include <climits>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

constexpr int THREADS = 32, PAIRS = 4, EACH = 2 * PAIRS;

__global__ void __launch_bounds__(THREADS)
    add_strided(const __half* __restrict__ a, const __half* __restrict__ b, __half* __restrict__ c, long long n) {
    const long long i = (static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x) * EACH;
    if (i + EACH <= n) {
        const __half2* x = reinterpret_cast<const __half2*>(a + i);
        const __half2* y = reinterpret_cast<const __half2*>(b + i);
        __half2 sum[PAIRS];
#pragma unroll
        for (int k = 0; k < PAIRS; ++k) sum[k] = __hadd2(x[k], y[k]);
#pragma unroll
        for (int k = 0; k < PAIRS; ++k) reinterpret_cast<__half2*>(c + i)[k] = sum[k];
    } else {
#pragma unroll 1  // once a grid; unrolled it takes registers from every thread
        for (long long j = i; j < n; ++j) c[j] = __hadd(a[j], b[j]);
    }
}

extern "C" cudaError_t elementwise_add(const __half* a, const __half* b, __half* c, long long n, long long width,
                                       long long /*block*/, cudaStream_t stream) {
    if (n < 0 || width != 2) return cudaErrorInvalidValue;
    if (n == 0) return cudaSuccess;
    const size_t addresses = reinterpret_cast<size_t>(a) | reinterpret_cast<size_t>(b) | reinterpret_cast<size_t>(c);
    if (addresses % 4) return cudaErrorMisalignedAddress;
    const long long blocks = (n - 1) / (THREADS * EACH) + 1;
    if (blocks > INT_MAX) return cudaErrorInvalidValue;
    add_strided<<<blocks, THREADS, 0, stream>>>(a, b, c, n);
    return cudaGetLastError();
}
