// Changes, to v9: theta^(-i / half) is that of the first pair of its group of four, times that of 0 to 3 pairs more. A
// kernel gets 68 float64 instead of 256 frequencies, and a warp that fetches one a lane asks for 8 and 4 addresses, not
// 32: the constant cache serves one at a time. And blocks of 128 threads, which wait for fewer others.
//
// expected: `at-dram-roofline`, 1.00 to 1.01 of the copy in float32, 0.985 to 0.995 in bfloat16; at decode
//   `launch-bound`, 4.0 us, level with the copy. A best guess: the two were measured apart, never together.
#include <algorithm>
#include <climits>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr int THREADS = 128, MOST_PAIRS = 256;
constexpr int GROUP = 4;  // pairs that share the first factor
constexpr int MOST_BLOCK_Z = 64;
constexpr int MOST_GRID_YZ = 65535;
constexpr long long MOST_POSITIONS = UINT_MAX;
constexpr double TURNS_PER_RADIAN = 0.15915494309189533577;

// Two factors of each frequency: turns a position of a group's first pair, in 2^-64, and what the others are of those.
struct Factors {
    double group[MOST_PAIRS / GROUP], within[GROUP];
};

struct Shape {
    long long heads;
    unsigned seq, first_position;
};

// 16 bytes as floats and back, or a single element where a half does not lie on 16 bytes.
__device__ inline void unpack(const uint4& raw, float (&lane)[4]) {
    lane[0] = __uint_as_float(raw.x), lane[1] = __uint_as_float(raw.y);
    lane[2] = __uint_as_float(raw.z), lane[3] = __uint_as_float(raw.w);
}
__device__ inline void unpack(const uint4& raw, float (&lane)[8]) {
    const unsigned word[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
    for (int k = 0; k < 4; ++k) {  // a bfloat16 is the upper half of a float
        lane[2 * k] = __uint_as_float(word[k] << 16);
        lane[2 * k + 1] = __uint_as_float(word[k] & 0xffff0000u);
    }
}
__device__ inline void unpack(float raw, float (&lane)[1]) { lane[0] = raw; }
__device__ inline void unpack(__nv_bfloat16 raw, float (&lane)[1]) { lane[0] = __bfloat162float(raw); }

__device__ inline unsigned two(float low, float high) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return reinterpret_cast<const unsigned&>(pair);
}
__device__ inline void pack(const float (&lane)[4], uint4& raw) {
    raw = make_uint4(__float_as_uint(lane[0]), __float_as_uint(lane[1]), __float_as_uint(lane[2]),
                     __float_as_uint(lane[3]));
}
__device__ inline void pack(const float (&lane)[8], uint4& raw) {
    raw = make_uint4(two(lane[0], lane[1]), two(lane[2], lane[3]), two(lane[4], lane[5]), two(lane[6], lane[7]));
}
__device__ inline void pack(const float (&lane)[1], float& raw) { raw = lane[0]; }
__device__ inline void pack(const float (&lane)[1], __nv_bfloat16& raw) { raw = __float2bfloat16(lane[0]); }

// Cosine and sine of a phase in 2^-32 turns, for float32: within an eighth of a turn around a quadrant's axis the
// polynomials are off by 1e-10 and 2e-9 (least maximum, fitted for this), less than the roundings.
__device__ inline float2 cos_sin(unsigned phase, float) {
    const unsigned turned = phase + 0x20000000u;  // the two upper bits: the quadrant
    const float x = static_cast<int>(turned * 4 + 0x80000000u) * 3.6572952e-10f;  // pi / 2^33
    const float x2 = x * x;
    const float s = fmaf(x * x2, fmaf(x2, fmaf(x2, -1.94956359e-4f, 8.33197869e-3f), -1.66666508e-1f), x);
    const float c =
        fmaf(x2, fmaf(x2, fmaf(x2, fmaf(x2, 2.44384519e-5f, -1.38873677e-3f), 4.16666456e-2f), -0.5f), 1.0f);
    const bool odd = turned & 0x40000000u;
    const unsigned cosine = __float_as_uint(odd ? s : c), sine = __float_as_uint(odd ? c : s);
    return {__uint_as_float(cosine ^ ((turned + 0x40000000u) & 0x80000000u)),
            __uint_as_float(sine ^ (turned & 0x80000000u))};
}

// The same for bfloat16. 0x7f above the phase, shifted right by 9, is a float from 1 to 2.
__device__ inline float2 cos_sin(unsigned phase, __nv_bfloat16) {
    const float from_one = __uint_as_float(__funnelshift_r(phase ^ 0x80000000u, 0x7f, 9));
    const float radians = fmaf(from_one, 6.2831855f, -9.4247780f);  // 2 pi and 3 pi: from -pi to pi
    return {__cosf(radians), __sinf(radians)};
}

// Element by element, a position of the longest head takes more threads than a block has otherwise.
template <typename T, typename Raw>
constexpr int BLOCK = std::max<int>(THREADS, MOST_PAIRS / (sizeof(Raw) / sizeof(T)));

// A block: packs of a half along x, positions along y, heads along z. q and half count packs. With the 1
// the compiler takes 40 registers in bfloat16, 32 without it, with which a like kernel was one per cent slower.
template <typename T, typename Raw>
__global__ void __launch_bounds__(BLOCK<T, Raw>, 1)
    rope_packs(const Raw* __restrict__ q, Raw* __restrict__ out, const Shape shape,
               const __grid_constant__ Factors factors) {
    constexpr int SIZE = sizeof(Raw) / sizeof(T);
    __shared__ unsigned long long turns[MOST_PAIRS];
    const unsigned half = blockDim.x, row = blockIdx.x * blockDim.y + threadIdx.y;
    const long long line = static_cast<long long>(blockIdx.z) * gridDim.y + blockIdx.y;
    const long long head = line * blockDim.z + threadIdx.z;
    const long long low = (head * shape.seq + row) * (2 * half) + threadIdx.x, high = low + half;
    const bool here = row < shape.seq && head < shape.heads;
    Raw x, y;
    if (here) {
        x = q[low];
        y = q[high];
    }
    const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * half + threadIdx.x;
#pragma unroll 1
    for (unsigned i = thread; i < half * SIZE; i += blockDim.x * blockDim.y * blockDim.z) {
        turns[i] = static_cast<unsigned long long>(factors.group[i / GROUP] * factors.within[i % GROUP]);
    }
    __syncthreads();
    if (!here) return;
    float left[SIZE], right[SIZE];
    unpack(x, left);
    unpack(y, right);
#pragma unroll
    for (int k = 0; k < SIZE; ++k) {
        const unsigned long long there = shape.first_position + row;
        const float2 by = cos_sin((there * turns[threadIdx.x * SIZE + k]) >> 32, T());
        const float turned = left[k] * by.x - right[k] * by.y;
        right[k] = right[k] * by.x + left[k] * by.y;
        left[k] = turned;
    }
    pack(left, x);
    pack(right, y);
    out[low] = x;
    out[high] = y;
}

static Factors factors_of(long long half, double theta) {
    Factors result = {};
    const auto power = [&](long long pair) { return exp2(-pair * log2(theta) / half); };
    for (long long i = 0; i * GROUP < half; ++i) result.group[i] = power(i * GROUP) * TURNS_PER_RADIAN * 0x1p64;
    for (int i = 0; i < GROUP; ++i) result.within[i] = power(i);
    return result;
}

template <typename T, typename Raw>
static cudaError_t launch(const void* q, void* out, long long half, const Shape& shape, const Factors& factors,
                          cudaStream_t stream) {
    const long long rows = BLOCK<T, Raw> / half, along = std::min<long long>(rows, shape.seq);
    const long long deep = std::min({rows / along, shape.heads, static_cast<long long>(MOST_BLOCK_Z)});
    const long long columns = (shape.seq - 1) / along + 1, lines = (shape.heads - 1) / deep + 1;
    const long long y = std::min<long long>(lines, MOST_GRID_YZ), z = (lines - 1) / y + 1;
    if (columns > INT_MAX || z > MOST_GRID_YZ) return cudaErrorInvalidValue;
    const auto kernel = rope_packs<T, Raw>;
    kernel<<<dim3(columns, y, z), dim3(half, along, deep), 0, stream>>>(static_cast<const Raw*>(q),
                                                                        static_cast<Raw*>(out), shape, factors);
    return cudaGetLastError();
}

template <typename T>
static cudaError_t choose(const void* q, void* out, long long half, const Shape& shape, const Factors& factors,
                          cudaStream_t stream) {
    constexpr int SIZE = 16 / sizeof(T);
    const size_t addresses = reinterpret_cast<size_t>(q) | reinterpret_cast<size_t>(out);
    if (addresses % sizeof(T)) return cudaErrorMisalignedAddress;
    if (half % SIZE || addresses % 16) return launch<T, T>(q, out, half, shape, factors, stream);
    return launch<T, uint4>(q, out, half / SIZE, shape, factors, stream);
}

extern "C" cudaError_t rope(const void* q, void* out, long long heads, long long seq, long long dim,
                            long long first_position, long long theta, long long width, cudaStream_t stream) {
    if (heads < 0 || seq < 0 || dim < 0 || dim % 2 || first_position < 0 || theta < 1) return cudaErrorInvalidValue;
    if (heads == 0 || seq == 0 || dim == 0) return cudaSuccess;
    if (dim > 2 * MOST_PAIRS || first_position > MOST_POSITIONS - seq) return cudaErrorInvalidValue;
    const Shape shape = {heads, static_cast<unsigned>(seq), static_cast<unsigned>(first_position)};
    const Factors factors = factors_of(dim / 2, theta);
    if (width == 4) return choose<float>(q, out, dim / 2, shape, factors, stream);
    if (width == 2) return choose<__nv_bfloat16>(q, out, dim / 2, shape, factors, stream);
    return cudaErrorInvalidValue;
}
