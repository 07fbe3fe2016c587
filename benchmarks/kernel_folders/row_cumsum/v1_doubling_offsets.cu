// Changes, to v0: a block a row, the row in shared memory. In step s each element takes the one 2^s places before it;
// after log2(cols) steps it holds the sum of all before it. Two buffers, so that no element is overwritten too early.
//
// expected: faster than the library, near the time of a copy: each element is read once and written once.
#include <cuda_runtime.h>

constexpr int THREADS = 1024;
constexpr long long MOST_COLS = 6144;  // two rows of floats in 48 KB of shared memory

__global__ void __launch_bounds__(THREADS) cumsum(const float* __restrict__ x, float* __restrict__ out, int cols) {
    extern __shared__ float rows[];
    float *now = rows, *next = rows + cols;
    const size_t first = static_cast<size_t>(blockIdx.x) * cols;
    for (int c = threadIdx.x; c < cols; c += THREADS) now[c] = x[first + c];
    __syncthreads();
    for (int offset = 1; offset < cols; offset *= 2) {
        for (int c = threadIdx.x; c < cols; c += THREADS) {
            next[c] = c >= offset ? now[c] + now[c - offset] : now[c];
        }
        __syncthreads();
        float* const last = now;
        now = next, next = last;
    }
    for (int c = threadIdx.x; c < cols; c += THREADS) out[first + c] = now[c];
}

extern "C" cudaError_t row_cumsum(const float* x, float* out, long long rows, long long cols, cudaStream_t stream) {
    if (rows < 1 || rows > 0x7fffffffLL || cols < 1 || cols > MOST_COLS) return cudaErrorInvalidValue;
    const size_t bytes = 2 * cols * sizeof(float);
    cumsum<<<static_cast<unsigned>(rows), THREADS, bytes, stream>>>(x, out, static_cast<int>(cols));
    return cudaGetLastError();
}
