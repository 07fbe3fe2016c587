// Changes: angles without floating-point range reduction. A frequency is a 64-bit fraction of a turn, computed on the host in
// double precision; position * frequency in unsigned arithmetic wraps at whole turns, so the product *is* the reduced
// angle, exact to position * 2^-54 of a turn at any position below 2^63. Its upper 32 bits go to sincospif. Frequencies go
// to shared memory first: in constant memory each lane wants its own, and a warp is served one address at a time.
//
// expected: `at-dram-roofline` in both dtypes: the double precision pipe is idle, an angle costs some 40 single precision and
//   integer instructions. 0.95 to 0.99 of the copy in float32; in bfloat16 0.85 to 0.95, where a thread computes eight angles
//   for two loads and the issue slots are half full.
#include <climits>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr int THREADS = 256, MOST_HEADS = 65535, MOST_PAIRS = 256;
constexpr double TURNS_PER_RADIAN = 0.15915494309189533577;

// Turns a position, as 64-bit fractions; a kernel's arguments may take 4 KB.
struct Frequencies {
    unsigned long long turns[MOST_PAIRS];
};

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline void assign(float& to, float x) { to = x; }
__device__ inline void assign(__nv_bfloat16& to, float x) { to = __float2bfloat16(x); }

template <typename T>
struct alignas(16) Pack {
    static constexpr int SIZE = 16 / sizeof(T);
    T lane[SIZE];
};

// The upper half of the phase as a signed fraction of half a turn, from -1 to 1.
__device__ inline float2 cos_sin(unsigned long long phase) {
    float2 result;
    sincospif(static_cast<int>(phase >> 32) * 0x1p-31f, &result.y, &result.x);
    return result;
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    rope_fixed_point(const Pack<T>* __restrict__ q, Pack<T>* __restrict__ out, int packs, int half,
                     unsigned long long first_position, const __grid_constant__ Frequencies frequencies) {
    __shared__ unsigned long long turns[MOST_PAIRS];
#pragma unroll 1
    for (int i = threadIdx.x; i < half * Pack<T>::SIZE; i += THREADS) turns[i] = frequencies.turns[i];
    __syncthreads();

    const int index = blockIdx.x * THREADS + threadIdx.x;  // packs of a head's first halves; half counts packs, too
    if (index >= packs) return;
    const int position = index / half, pack = index % half;
    const long long low = blockIdx.y * 2ll * packs + 2ll * half * position + pack, high = low + half;
    const Pack<T> x = q[low], y = q[high];
    Pack<T> left, right;
#pragma unroll
    for (int k = 0; k < Pack<T>::SIZE; ++k) {
        const float2 turn = cos_sin((first_position + position) * turns[pack * Pack<T>::SIZE + k]);
        assign(left.lane[k], to_float(x.lane[k]) * turn.x - to_float(y.lane[k]) * turn.y);
        assign(right.lane[k], to_float(y.lane[k]) * turn.x + to_float(x.lane[k]) * turn.y);
    }
    out[low] = left;
    out[high] = right;
}

// theta^(-pair/half) radians a position
static Frequencies frequencies_of(long long half, double theta) {
    Frequencies result = {};
    for (int pair = 0; pair < half; ++pair) {
        const double turns = exp2(-pair * log2(theta) / half) * TURNS_PER_RADIAN;
        result.turns[pair] = static_cast<unsigned long long>(turns * 0x1p64);
    }
    return result;
}

template <typename T>
static cudaError_t launch(const void* q, void* out, long long heads, long long seq, long long dim,
                          long long first_position, const Frequencies& frequencies, cudaStream_t stream) {
    constexpr int SIZE = Pack<T>::SIZE;
    if (dim % (2 * SIZE)) return cudaErrorInvalidValue;
    if ((reinterpret_cast<size_t>(q) | reinterpret_cast<size_t>(out)) % 16) return cudaErrorMisalignedAddress;
    const long long half = dim / (2 * SIZE);
    if (heads > MOST_HEADS || seq > (INT_MAX - THREADS) / half) return cudaErrorInvalidValue;
    const dim3 grid((seq * half - 1) / THREADS + 1, heads);
    rope_fixed_point<T><<<grid, THREADS, 0, stream>>>(static_cast<const Pack<T>*>(q), static_cast<Pack<T>*>(out),
                                                      seq * half, half, first_position, frequencies);
    return cudaGetLastError();
}

extern "C" cudaError_t rope(const void* q, void* out, long long heads, long long seq, long long dim,
                            long long first_position, long long theta, long long width, cudaStream_t stream) {
    if (heads < 0 || seq < 0 || dim < 0 || dim % 2 || first_position < 0 || theta < 1) return cudaErrorInvalidValue;
    if (heads == 0 || seq == 0 || dim == 0) return cudaSuccess;
    if (dim > 2 * MOST_PAIRS) return cudaErrorInvalidValue;
    const Frequencies frequencies = frequencies_of(dim / 2, theta);
    if (width == 4) return launch<float>(q, out, heads, seq, dim, first_position, frequencies, stream);
    if (width == 2) return launch<__nv_bfloat16>(q, out, heads, seq, dim, first_position, frequencies, stream);
    return cudaErrorInvalidValue;
}
