// Changes, to v9 (v4 in float32): one 128-bit access of each input a thread again, in either dtype, and the shape of a
// block from the size: 256 threads; 128 with two accesses each where all of it is in flight at once; 768 where there are
// many waves. An index takes 32 bits where it fits. Serves any address, as v11 does.
// dtypes: float32, float16
// parent: v9, v4
//
// expected: `at-dram-roofline` from 2^26 on. In the middle v9 and v4, which were at 1.002 to 1.007 of the best of torch
//   and CUB. At 2^20 the time is a launch and one round to DRAM: half as many warps are there sooner, as torch.compile
//   shows, which in float32 takes 6.59 us with such blocks where v4 takes 6.72. From 2^26 on 1536 threads an SM
//   instead of 2048: in the sweep, which was of float16, blocks of 768 were ahead by 0.2 % at 2^26 and 0.7 % at 2^28.
//   Two of them fill an SM to three quarters, 48 KB in flight, which is what DRAM wants; v11, with more, had lost.
// measured: right at 2^28 alone, 0.8 % ahead of v9 and 1.1 % of v4; elsewhere not to be told from them.
#include <climits>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

constexpr long long ONE_WAVE = 1 << 18;    // packs of 16 bytes up to which every thread has a place at once
constexpr long long MANY_WAVES = 1 << 23;  // packs from which on fewer threads an SM are better
constexpr long long WIDE = 1LL << 31;      // packs from which on an index needs 64 bits
constexpr int ELEMENTS = 256;              // threads of a block where accesses are of single elements

__device__ inline float add(float x, float y) { return x + y; }
__device__ inline __half add(__half x, __half y) { return __hadd(x, y); }
__device__ inline __half2 add(__half2 x, __half2 y) { return __hadd2(x, y); }

// What one addition instruction takes: float16 goes in pairs.
template <typename T> struct Lane { using type = T; };
template <> struct Lane<__half> { using type = __half2; };

template <typename T>
__device__ inline uint4 add16(uint4 x, uint4 y) {
    using L = typename Lane<T>::type;
    uint4 sum;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        reinterpret_cast<L*>(&sum)[k] = add(reinterpret_cast<const L*>(&x)[k], reinterpret_cast<const L*>(&y)[k]);
    }
    return sum;
}

// A block owns DEPTH * THREADS packs of 16 bytes; the pack after the last whole one holds the 0 to 7 elements left.
template <typename T, int THREADS, int DEPTH, typename Index>
__global__ void __launch_bounds__(THREADS)
    add_packs(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, Index whole, int left) {
    const uint4* a_packs = reinterpret_cast<const uint4*>(a);
    const uint4* b_packs = reinterpret_cast<const uint4*>(b);
    uint4* c_packs = reinterpret_cast<uint4*>(c);
    const Index start = static_cast<Index>(blockIdx.x) * (THREADS * DEPTH), first = start + threadIdx.x;
    if (start + THREADS * DEPTH <= whole) {
        uint4 x[DEPTH], y[DEPTH];
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            x[k] = a_packs[first + k * THREADS];
            y[k] = b_packs[first + k * THREADS];
        }
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) c_packs[first + k * THREADS] = add16<T>(x[k], y[k]);
        return;
    }
#pragma unroll 1  // once a grid; unrolled it takes registers from every thread
    for (int k = 0; k < DEPTH; ++k) {
        const Index i = first + k * THREADS;
        if (i < whole) c_packs[i] = add16<T>(a_packs[i], b_packs[i]);
        if (i == whole) {
#pragma unroll 1
            for (int j = 0; j < left; ++j) {
                reinterpret_cast<T*>(c_packs + i)[j] =
                    add(reinterpret_cast<const T*>(a_packs + i)[j], reinterpret_cast<const T*>(b_packs + i)[j]);
            }
        }
    }
}

template <typename T>
__global__ void __launch_bounds__(ELEMENTS)
    add_elements(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, long long n) {
    const long long i = static_cast<long long>(blockIdx.x) * ELEMENTS + threadIdx.x;
    if (i < n) c[i] = add(a[i], b[i]);
}

template <typename T, int THREADS, int DEPTH, typename Index>
static cudaError_t packed(const T* a, const T* b, T* c, long long n, cudaStream_t stream) {
    constexpr long long EACH = 16 / sizeof(T);
    const long long blocks = ((n - 1) / EACH) / (THREADS * DEPTH) + 1;
    if (blocks > INT_MAX) return cudaErrorInvalidValue;
    const auto kernel = add_packs<T, THREADS, DEPTH, Index>;
    kernel<<<blocks, THREADS, 0, stream>>>(a, b, c, static_cast<Index>(n / EACH), static_cast<int>(n % EACH));
    return cudaGetLastError();
}

template <typename T>
static cudaError_t launch(const void* a_given, const void* b_given, void* c_given, long long n, cudaStream_t stream) {
    const T *a = static_cast<const T*>(a_given), *b = static_cast<const T*>(b_given);
    T* c = static_cast<T*>(c_given);
    const size_t addresses = reinterpret_cast<size_t>(a) | reinterpret_cast<size_t>(b) | reinterpret_cast<size_t>(c);
    if (addresses % sizeof(T)) return cudaErrorMisalignedAddress;
    if (addresses % 16) {
        const long long blocks = (n - 1) / ELEMENTS + 1;
        if (blocks > INT_MAX) return cudaErrorInvalidValue;
        add_elements<T><<<blocks, ELEMENTS, 0, stream>>>(a, b, c, n);
        return cudaGetLastError();
    }
    const long long packs = (n - 1) / static_cast<long long>(16 / sizeof(T)) + 1;  // the last one may be partial
    if (packs >= WIDE) return packed<T, 768, 1, long long>(a, b, c, n, stream);
    if (packs >= MANY_WAVES) return packed<T, 768, 1, unsigned>(a, b, c, n, stream);
    if (packs > ONE_WAVE) return packed<T, 256, 1, unsigned>(a, b, c, n, stream);
    return packed<T, 128, 2, unsigned>(a, b, c, n, stream);
}

extern "C" cudaError_t elementwise_add(const void* a, const void* b, void* c, long long n, long long width,
                                       long long /*block*/, cudaStream_t stream) {
    if (n < 0) return cudaErrorInvalidValue;
    if (n == 0) return cudaSuccess;
    if (width == 4) return launch<float>(a, b, c, n, stream);
    if (width == 2) return launch<__half>(a, b, c, n, stream);
    return cudaErrorInvalidValue;
}
