// Changes, to v7: all heads of a position turn by the same angles, so a thread computes its angles once, while its first
// loads are under way, and keeps them for the heads it walks through, four at a time: eight independent 128-bit loads. With
// few positions (a decode step) the threads of a block spread over heads instead. Serves any even dim up to 512 and any
// address: where halves do not lie on 16 bytes, element by element.
//
// expected: `at-dram-roofline` in both dtypes, 0.97 to 1.00 of the copy: a thread serves 16 heads (bfloat16: 8) with angles
//   computed once, and 128 KB are in flight on an SM. Little won over v7 in float32, ten per cent in bfloat16. At decode
//   `launch-bound`, level with v7.
#include <algorithm>
#include <climits>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr int THREADS = 256, MOST_PAIRS = 256, MOST_GRID_Y = 65535;
constexpr int DEEP = 4;  // heads at a time
constexpr int BLOCKS_AN_SM = 4;  // leaves 64 registers, of which bfloat16 needs all: 8 packs and 16 factors
constexpr int FEW_BLOCKS = 528;  // four on each of 132 SMs: below that a head at a time, for more blocks
constexpr int MANY_BLOCKS = 4096;  // eight waves; more blocks would reuse angles less
constexpr double TURNS_PER_RADIAN = 0.15915494309189533577;

// Turns a position, as 64-bit fractions; a kernel's arguments may take 4 KB.
struct Frequencies {
    unsigned long long turns[MOST_PAIRS];
};

// Sizes in packs. Threads along x take packs of the first halves of a head, position by position, along y heads.
struct Shape {
    long long heads, packs, half;
    unsigned long long first_position;
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

// The upper half of the phase as a signed fraction of half a turn, from -1 to 1.
__device__ inline float2 cos_sin(unsigned long long phase) {
    float2 result;
    sincospif(static_cast<int>(phase >> 32) * 0x1p-31f, &result.y, &result.x);
    return result;
}

template <typename Raw, int SIZE>
__device__ inline void turn(Raw& x, Raw& y, const float2 (&by)[SIZE]) {
    float left[SIZE], right[SIZE];
    unpack(x, left);
    unpack(y, right);
#pragma unroll
    for (int k = 0; k < SIZE; ++k) {
        const float turned = left[k] * by[k].x - right[k] * by[k].y;
        right[k] = right[k] * by[k].x + left[k] * by[k].y;
        left[k] = turned;
    }
    pack(left, x);
    pack(right, y);
}

template <typename T, typename Raw, int DEPTH>
__global__ void __launch_bounds__(THREADS, BLOCKS_AN_SM)
    rope_heads(const Raw* __restrict__ q, Raw* __restrict__ out, const Shape shape,
               const __grid_constant__ Frequencies frequencies) {
    constexpr int SIZE = sizeof(Raw) / sizeof(T);
    __shared__ unsigned long long turns[MOST_PAIRS];
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (int i = thread; i < shape.half * SIZE; i += THREADS) turns[i] = frequencies.turns[i];
    __syncthreads();

    const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    const long long step = static_cast<long long>(gridDim.y) * blockDim.y;  // from one of my heads to the next
    long long head = static_cast<long long>(blockIdx.y) * blockDim.y + threadIdx.y;
    if (index >= shape.packs || head >= shape.heads) return;
    const long long position = index / shape.half, pack = index - position * shape.half;
    const long long head_size = 2 * shape.packs, stride = step * head_size;
    long long low = head * head_size + 2 * shape.half * position + pack;

    Raw x[DEPTH], y[DEPTH];
    const auto load = [&] {
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            if (head + k * step >= shape.heads) break;
            x[k] = q[low + k * stride];
            y[k] = q[low + k * stride + shape.half];
        }
    };
    load();
    float2 by[SIZE];
    const unsigned long long there = shape.first_position + position;
#pragma unroll
    for (int k = 0; k < SIZE; ++k) by[k] = cos_sin(there * turns[pack * SIZE + k]);
    while (true) {
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            if (head + k * step >= shape.heads) break;
            turn(x[k], y[k], by);
            out[low + k * stride] = x[k];
            out[low + k * stride + shape.half] = y[k];
        }
        head += DEPTH * step;
        low += DEPTH * stride;
        if (head >= shape.heads) return;
        load();
    }
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

template <typename T, typename Raw>
static cudaError_t launch(const void* q, void* out, const Shape& shape, const Frequencies& frequencies,
                          cudaStream_t stream) {
    int width = 1;  // threads along the packs of a head: a power of two, so that a block has THREADS
    while (width < THREADS && width < shape.packs) width *= 2;
    const int rows = THREADS / width;
    const long long columns = (shape.packs - 1) / width + 1;
    if (columns > INT_MAX) return cudaErrorInvalidValue;
    const long long most_deep = (shape.heads - 1) / (rows * DEEP) + 1, most = (shape.heads - 1) / rows + 1;
    const bool deep = columns * most_deep >= FEW_BLOCKS;
    const long long wanted = (MANY_BLOCKS - 1) / columns + 1;
    const long long lines = std::min({deep ? most_deep : most, wanted, static_cast<long long>(MOST_GRID_Y)});
    const auto chosen = deep ? rope_heads<T, Raw, DEEP> : rope_heads<T, Raw, 1>;
    chosen<<<dim3(columns, lines), dim3(width, rows), 0, stream>>>(
        static_cast<const Raw*>(q), static_cast<Raw*>(out), shape, frequencies);
    return cudaGetLastError();
}

template <typename T>
static cudaError_t choose(const void* q, void* out, long long heads, long long seq, long long dim,
                          unsigned long long first_position, const Frequencies& frequencies, cudaStream_t stream) {
    constexpr int SIZE = 16 / sizeof(T);
    const size_t addresses = reinterpret_cast<size_t>(q) | reinterpret_cast<size_t>(out);
    if (addresses % sizeof(T)) return cudaErrorMisalignedAddress;
    const long long half = dim / 2;
    const bool packed = half % SIZE == 0 && addresses % 16 == 0;
    const long long packs = packed ? half / SIZE : half;
    const Shape shape = {heads, seq * packs, packs, first_position};
    const auto chosen = packed ? launch<T, uint4> : launch<T, T>;
    return chosen(q, out, shape, frequencies, stream);
}

extern "C" cudaError_t rope(const void* q, void* out, long long heads, long long seq, long long dim,
                            long long first_position, long long theta, long long width, cudaStream_t stream) {
    if (heads < 0 || seq < 0 || dim < 0 || dim % 2 || first_position < 0 || theta < 1) return cudaErrorInvalidValue;
    if (heads == 0 || seq == 0 || dim == 0) return cudaSuccess;
    if (dim > 2 * MOST_PAIRS) return cudaErrorInvalidValue;
    const Frequencies frequencies = frequencies_of(dim / 2, theta);
    if (width == 4) return choose<float>(q, out, heads, seq, dim, first_position, frequencies, stream);
    if (width == 2) return choose<__nv_bfloat16>(q, out, heads, seq, dim, first_position, frequencies, stream);
    return cudaErrorInvalidValue;
}
