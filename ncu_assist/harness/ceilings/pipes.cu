// What the instruction pipes can do: eight independent chains a thread, so that a warp never waits for its own result.
#include <cuda_runtime.h>

static constexpr int THREADS = 256, CHAINS = 8, STEPS = 16;

struct Fma {
    typedef float Value;
    static __device__ void step(float& a, float b, float c) { asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(a) : "f"(b), "f"(c)); }
};
struct Fp64 {
    typedef double Value;
    static __device__ void step(double& a, double b, double c) { asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(a) : "d"(b), "d"(c)); }
};
struct Half2 {
    typedef unsigned Value;
    static __device__ void step(unsigned& a, unsigned b, unsigned c) { asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(a) : "r"(b), "r"(c)); }
};
struct Imad {
    typedef unsigned Value;
    static __device__ void step(unsigned& a, unsigned b, unsigned c) { asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(a) : "r"(b), "r"(c)); }
};
struct Alu {  // picks bytes: additions go to the FMA pipe as well, and two logic operations become one
    typedef unsigned Value;
    static __device__ void step(unsigned& a, unsigned b, unsigned c) { asm volatile("prmt.b32 %0, %0, %1, %2;" : "+r"(a) : "r"(b), "r"(c)); }
};
struct Xu {
    typedef float Value;
    static __device__ void step(float& a, float, float) { asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(a)); }
};

template <typename Pipe>
__global__ void __launch_bounds__(THREADS, 4) pipe_kernel(long long rounds, unsigned b_bits, unsigned c_bits, unsigned* sink) {
    typedef typename Pipe::Value Value;
    Value chains[CHAINS];
    const Value b = static_cast<Value>(b_bits), c = static_cast<Value>(c_bits);
#pragma unroll
    for (int k = 0; k < CHAINS; k++) chains[k] = static_cast<Value>(threadIdx.x + k);
    for (long long round = 0; round < rounds; round++) {
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
#pragma unroll
            for (int k = 0; k < CHAINS; k++) Pipe::step(chains[k], b, c);
        }
    }
    unsigned kept = 0;
#pragma unroll
    for (int k = 0; k < CHAINS; k++) kept ^= static_cast<unsigned>(static_cast<long long>(chains[k]));
    if (kept == 0x5eed5eedu) *sink = kept;
}

// Loads of 4 bytes a thread at consecutive addresses: one wavefront each, so that instructions are the limit.
__global__ void __launch_bounds__(THREADS, 4) lsu_kernel(long long rounds, unsigned* sink) {
    __shared__ unsigned words[THREADS];
    words[threadIdx.x] = threadIdx.x;
    __syncthreads();
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(words + threadIdx.x));
    unsigned kept = 0;
    for (long long round = 0; round < rounds; round++) {
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
            unsigned values[CHAINS];
#pragma unroll
            for (int k = 0; k < CHAINS; k++) {
                asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(values[k]) : "r"(address));
            }
#pragma unroll
            for (int k = 0; k < CHAINS; k += 2) kept ^= values[k] ^ values[k + 1];
        }
    }
    if (kept == 0x5eed5eedu) *sink = kept;
}

template <typename Pipe>
static cudaError_t start(long long rounds, unsigned* sink, long long sms, cudaStream_t stream) {
    pipe_kernel<Pipe><<<static_cast<unsigned>(8 * sms), THREADS, 0, stream>>>(rounds, 3u, 5u, sink);
    return cudaGetLastError();
}

// `which`: 0 fma, 1 fp64, 2 fp16 pairs, 3 imad, 4 alu, 5 xu, 6 lsu. A thread makes
// 128 steps a round; eight blocks of 256 threads a multiprocessor.
extern "C" cudaError_t ceilings_pipe(long long which, long long rounds, unsigned* sink, long long sms, cudaStream_t stream) {
    switch (which) {
        case 0: return start<Fma>(rounds, sink, sms, stream);
        case 1: return start<Fp64>(rounds, sink, sms, stream);
        case 2: return start<Half2>(rounds, sink, sms, stream);
        case 3: return start<Imad>(rounds, sink, sms, stream);
        case 4: return start<Alu>(rounds, sink, sms, stream);
        case 5: return start<Xu>(rounds, sink, sms, stream);
        case 6:
            lsu_kernel<<<static_cast<unsigned>(8 * sms), THREADS, 0, stream>>>(rounds, sink);
            return cudaGetLastError();
    }
    return cudaErrorInvalidValue;
}
