// A kernel that normalises, a block a head, and one that turns in place, a thread a pair.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr int DIM = 128, HALF = DIM / 2, THREADS = 256;

__global__ void normalise(const __nv_bfloat16* x, const __nv_bfloat16* weight, __nv_bfloat16* y) {
    __shared__ float sums[DIM];
    long long at = static_cast<long long>(blockIdx.x) * DIM + threadIdx.x;
    float value = __bfloat162float(x[at]);
    sums[threadIdx.x] = value * value;
    for (int half = HALF; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    __syncthreads();
    y[at] = __float2bfloat16(value / sqrtf(sums[0] / DIM + 1e-6f) * __bfloat162float(weight[threadIdx.x]));
}

__global__ void turn(__nv_bfloat16* y, long long heads, long long pairs) {
    long long pair = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
    if (pair >= pairs) return;
    int i = pair % HALF;
    long long head = pair / HALF, token = head / heads;
    float angle = token * powf(10000.0f, -static_cast<float>(i) / HALF);
    float low = __bfloat162float(y[head * DIM + i]), high = __bfloat162float(y[head * DIM + HALF + i]);
    y[head * DIM + i] = __float2bfloat16(low * cosf(angle) - high * sinf(angle));
    y[head * DIM + HALF + i] = __float2bfloat16(high * cosf(angle) + low * sinf(angle));
}

extern "C" cudaError_t rotary_norm(const __nv_bfloat16* x, const __nv_bfloat16* weight, __nv_bfloat16* y,
                                   long long tokens, long long heads, cudaStream_t stream) {
    long long pairs = tokens * heads * HALF;
    normalise<<<static_cast<unsigned>(tokens * heads), DIM, 0, stream>>>(x, weight, y);
    turn<<<static_cast<unsigned>((pairs + THREADS - 1) / THREADS), THREADS, 0, stream>>>(y, heads, pairs);
    return cudaGetLastError();
}
