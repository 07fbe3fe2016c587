// Changes: one CUDA kernel without tables: a thread a pair, its angle computed in registers. The frequency, the angle and
// its reduction are float64, since float32 drifts to 1e-3 at position 8191; only the reduced angle is float32.
// parent: v0
//
// expected: `low-bytes-in-flight`: two loads of 4 bytes a thread, at most 16 KB on an SM, and 8 in bfloat16 (2 sectors a
//   request). Second the arithmetic: 22 double precision instructions and five conversions a pair keep that pipe busy for
//   some 100 us over all SMs, under the 250 us that a copy of 1.07 GB takes and just under the 125 us of bfloat16. 0.7 to
//   0.85 of the copy in float32, 0.45 to 0.6 in bfloat16.
#include <climits>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr int THREADS = 256, MOST_HEADS = 65535;
constexpr double TURNS_PER_RADIAN = 0.15915494309189533577;

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline void assign(float& to, float x) { to = x; }
__device__ inline void assign(__nv_bfloat16& to, float x) { to = __float2bfloat16(x); }

// theta^(-pair/half) = 2^(-pair * octaves), octaves being log2(theta) / half
__device__ inline float2 cos_sin(long long position, int pair, double octaves) {
    const double turns = static_cast<double>(position) * (exp2(-pair * octaves) * TURNS_PER_RADIAN);
    float2 result;
    sincospif(2.0f * static_cast<float>(turns - rint(turns)), &result.y, &result.x);
    return result;
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    rope_scalar(const T* __restrict__ q, T* __restrict__ out, int pairs, int half, long long first_position,
                double octaves) {
    const int index = blockIdx.x * THREADS + threadIdx.x;  // pairs of a head, position by position
    if (index >= pairs) return;
    const int position = index / half, pair = index % half;
    const long long low = blockIdx.y * 2ll * pairs + 2ll * half * position + pair, high = low + half;
    const float x = to_float(q[low]), y = to_float(q[high]);
    const float2 turn = cos_sin(first_position + position, pair, octaves);
    assign(out[low], x * turn.x - y * turn.y);
    assign(out[high], y * turn.x + x * turn.y);
}

template <typename T>
static cudaError_t launch(const void* q, void* out, long long heads, long long pairs, long long half,
                          long long first_position, double octaves, cudaStream_t stream) {
    const dim3 grid((pairs - 1) / THREADS + 1, heads);
    rope_scalar<T><<<grid, THREADS, 0, stream>>>(static_cast<const T*>(q), static_cast<T*>(out), pairs, half,
                                                 first_position, octaves);
    return cudaGetLastError();
}

extern "C" cudaError_t rope(const void* q, void* out, long long heads, long long seq, long long dim,
                            long long first_position, long long theta, long long width, cudaStream_t stream) {
    if (heads < 0 || seq < 0 || dim < 0 || dim % 2 || first_position < 0 || theta < 1) return cudaErrorInvalidValue;
    if (heads == 0 || seq == 0 || dim == 0) return cudaSuccess;
    const long long half = dim / 2;
    if (heads > MOST_HEADS || seq > (INT_MAX - THREADS) / half) return cudaErrorInvalidValue;
    const double octaves = log2(static_cast<double>(theta)) / half;
    if (width == 4) return launch<float>(q, out, heads, seq * half, half, first_position, octaves, stream);
    if (width == 2) return launch<__nv_bfloat16>(q, out, heads, seq * half, half, first_position, octaves, stream);
    return cudaErrorInvalidValue;
}
