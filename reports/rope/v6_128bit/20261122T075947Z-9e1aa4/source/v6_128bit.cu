// Changes: a thread takes neighbouring pairs, one 128-bit access from each half: four in float32, eight in bfloat16. Angles
// as in v5, one for each pair. dim has to be a multiple of 8 in float32, of 16 in bfloat16.
//
// expected: `at-dram-roofline` in float32: 64 KB in flight on an SM, and the 100 us of double precision hide behind 250 us
//   of memory. 0.9 to 0.98 of the copy. In bfloat16 the same 67 million angles stand against half the bytes: `pipe-bound`
//   (fp64), 0.7 to 0.85 of the copy. 128-bit accesses alone do not make it fast.
#include <climits>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr int THREADS = 256, MOST_HEADS = 65535;
constexpr double TURNS_PER_RADIAN = 0.15915494309189533577;

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline void assign(float& to, float x) { to = x; }
__device__ inline void assign(__nv_bfloat16& to, float x) { to = __float2bfloat16(x); }

template <typename T>
struct alignas(16) Pack {
    static constexpr int SIZE = 16 / sizeof(T);
    T lane[SIZE];
};

// theta^(-pair/half) = 2^(-pair * octaves), octaves being log2(theta) / half
__device__ inline float2 cos_sin(long long position, int pair, double octaves) {
    const double turns = static_cast<double>(position) * (exp2(-pair * octaves) * TURNS_PER_RADIAN);
    float2 result;
    sincospif(2.0f * static_cast<float>(turns - rint(turns)), &result.y, &result.x);
    return result;
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    rope_packs(const Pack<T>* __restrict__ q, Pack<T>* __restrict__ out, int packs, int half, long long first_position,
               double octaves) {
    const int index = blockIdx.x * THREADS + threadIdx.x;  // packs of a head's first halves; half counts packs, too
    if (index >= packs) return;
    const int position = index / half, pack = index % half;
    const long long low = blockIdx.y * 2ll * packs + 2ll * half * position + pack, high = low + half;
    const Pack<T> x = q[low], y = q[high];
    Pack<T> left, right;
#pragma unroll
    for (int k = 0; k < Pack<T>::SIZE; ++k) {
        const float2 turn = cos_sin(first_position + position, pack * Pack<T>::SIZE + k, octaves);
        assign(left.lane[k], to_float(x.lane[k]) * turn.x - to_float(y.lane[k]) * turn.y);
        assign(right.lane[k], to_float(y.lane[k]) * turn.x + to_float(x.lane[k]) * turn.y);
    }
    out[low] = left;
    out[high] = right;
}

template <typename T>
static cudaError_t launch(const void* q, void* out, long long heads, long long seq, long long dim,
                          long long first_position, double octaves, cudaStream_t stream) {
    constexpr int SIZE = Pack<T>::SIZE;
    if (dim % (2 * SIZE)) return cudaErrorInvalidValue;
    if ((reinterpret_cast<size_t>(q) | reinterpret_cast<size_t>(out)) % 16) return cudaErrorMisalignedAddress;
    const long long half = dim / (2 * SIZE);
    if (heads > MOST_HEADS || seq > (INT_MAX - THREADS) / half) return cudaErrorInvalidValue;
    const dim3 grid((seq * half - 1) / THREADS + 1, heads);
    rope_packs<T><<<grid, THREADS, 0, stream>>>(static_cast<const Pack<T>*>(q), static_cast<Pack<T>*>(out), seq * half,
                                                half, first_position, octaves);
    return cudaGetLastError();
}

extern "C" cudaError_t rope(const void* q, void* out, long long heads, long long seq, long long dim,
                            long long first_position, long long theta, long long width, cudaStream_t stream) {
    if (heads < 0 || seq < 0 || dim < 0 || dim % 2 || first_position < 0 || theta < 1) return cudaErrorInvalidValue;
    if (heads == 0 || seq == 0 || dim == 0) return cudaSuccess;
    const double octaves = log2(static_cast<double>(theta)) / (dim / 2);
    if (width == 4) return launch<float>(q, out, heads, seq, dim, first_position, octaves, stream);
    if (width == 2) return launch<__nv_bfloat16>(q, out, heads, seq, dim, first_position, octaves, stream);
    return cudaErrorInvalidValue;
}
