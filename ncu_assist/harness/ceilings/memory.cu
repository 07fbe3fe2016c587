// What memory can do: streams between device memory and multiprocessors, hits in L2, conflict-free shared memory.
#include <cuda_runtime.h>

static constexpr int THREADS = 256;
static constexpr int SHARED_WORDS = THREADS * 4;
static constexpr int LINE_BYTES = 128;

template <bool STREAMING>
static __device__ uint4 load(const uint4* from) {
    if constexpr (STREAMING) return __ldcs(from);
    return *from;
}

template <bool STREAMING>
static __device__ void store(uint4* to, uint4 value) {
    if constexpr (STREAMING) __stcs(to, value);
    else *to = value;
}

static __device__ uint4 sum(uint4 a, uint4 b) { return make_uint4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }

// Reads READS arrays of `count` vectors that follow each other in `in`, adds them up, and writes the sum or nothing.
// A thread has READS x UNROLL loads of 16 bytes under way before it uses the first. `count` is a multiple of
// THREADS x UNROLL: there is no ragged end.
template <int READS, bool WRITES, int UNROLL, bool STREAMING>
__global__ void __launch_bounds__(THREADS) move_kernel(const uint4* in, uint4* out, long long count, unsigned* sink) {
    const long long first = static_cast<long long>(blockIdx.x) * (THREADS * UNROLL) + threadIdx.x;
    uint4 values[UNROLL][READS > 0 ? READS : 1];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
#pragma unroll
        for (int r = 0; r < READS; r++) values[u][r] = load<STREAMING>(in + r * count + first + u * THREADS);
    }
    unsigned kept = 0;
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        uint4 total = READS > 0 ? values[u][0] : make_uint4(threadIdx.x, u, 3, 4);
#pragma unroll
        for (int r = 1; r < READS; r++) total = sum(total, values[u][r]);
        if constexpr (WRITES) store<STREAMING>(out + first + u * THREADS, total);
        else kept += total.x ^ total.y ^ total.z ^ total.w;
    }
    if constexpr (!WRITES) {
        if (kept == 0x5eed5eedu) *sink = kept;  // once in four billion threads: the loads cannot be left out
    }
}

template <int READS, bool WRITES, int UNROLL, bool STREAMING>
static cudaError_t move_as(const uint4* in, uint4* out, long long count, unsigned* sink, cudaStream_t stream) {
    const long long blocks = count / (THREADS * UNROLL);
    move_kernel<READS, WRITES, UNROLL, STREAMING>
        <<<static_cast<unsigned>(blocks), THREADS, 0, stream>>>(in, out, count, sink);
    return cudaGetLastError();
}

template <int READS, bool WRITES>
static cudaError_t move_way(long long way, const uint4* in, uint4* out, long long count, unsigned* sink, cudaStream_t s) {
    switch (way) {
        case 0: return move_as<READS, WRITES, 1, false>(in, out, count, sink, s);
        case 1: return move_as<READS, WRITES, 2, false>(in, out, count, sink, s);
        case 2: return move_as<READS, WRITES, 4, false>(in, out, count, sink, s);
        case 3: return move_as<READS, WRITES, 8, false>(in, out, count, sink, s);
        case 4: return move_as<READS, WRITES, 1, true>(in, out, count, sink, s);
        case 5: return move_as<READS, WRITES, 2, true>(in, out, count, sink, s);
        case 6: return move_as<READS, WRITES, 4, true>(in, out, count, sink, s);
        case 7: return move_as<READS, WRITES, 8, true>(in, out, count, sink, s);
    }
    return cudaErrorInvalidValue;
}

// Sweeps a buffer again and again with loads that pass L1 by. `count` is a multiple of the threads of the grid.
__global__ void __launch_bounds__(1024) l2_kernel(const uint4* data, long long count, long long loads, unsigned* sink) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    const long long me = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    long long base = 0;
    unsigned kept = 0;
    for (long long done = 0; done < loads; done += 4) {
        uint4 values[4];
#pragma unroll
        for (int u = 0; u < 4; u++) {
            values[u] = __ldcg(data + base + me);
            base += step;
            if (base >= count) base = 0;
        }
#pragma unroll
        for (int u = 0; u < 4; u++) kept += values[u].x ^ values[u].y ^ values[u].z ^ values[u].w;
    }
    if (kept == 0x5eed5eedu) *sink = kept;
}

// Each load takes 16 bytes a thread at consecutive addresses: four wavefronts a warp, no conflicts.
__global__ void __launch_bounds__(THREADS) shared_kernel(long long rounds, unsigned* sink) {
    __shared__ uint4 words[SHARED_WORDS];
    for (int i = threadIdx.x; i < SHARED_WORDS; i += THREADS) words[i] = make_uint4(i, i + 1, i + 2, i + 3);
    __syncthreads();
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(words + threadIdx.x));
    uint4 kept = make_uint4(0, 0, 0, 0);
    for (long long round = 0; round < rounds; round++) {
        uint4 values[8];
#pragma unroll
        for (int u = 0; u < 8; u++) {
            asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(values[u].x), "=r"(values[u].y), "=r"(values[u].z), "=r"(values[u].w)
                         : "r"(address + (u % 4) * THREADS * 16));
        }
#pragma unroll
        for (int u = 0; u < 8; u += 2) {
            kept.x ^= values[u].x ^ values[u + 1].x;
            kept.y ^= values[u].y ^ values[u + 1].y;
            kept.z ^= values[u].z ^ values[u + 1].z;
            kept.w ^= values[u].w ^ values[u + 1].w;
        }
    }
    if ((kept.x ^ kept.y ^ kept.z ^ kept.w) == 0x5eed5eedu) *sink = kept.x;
}

// Loads 4 bytes of the first sector of every line of memory of the host, each lane in a line of its own: what crosses the
// link is a request for one sector each.
__global__ void __launch_bounds__(THREADS) host_sectors_kernel(const unsigned* in, unsigned* sink) {
    const long long first = static_cast<long long>(blockIdx.x) * (THREADS * 4) + threadIdx.x;
    unsigned kept = 0;
#pragma unroll
    for (int u = 0; u < 4; u++) kept += in[(first + u * THREADS) * (LINE_BYTES / 4)];
    if (kept == 0x5eed5eedu) *sink = kept;
}

// `way`: 0 to 3 plain accesses with 1, 2, 4, 8 vectors a thread, 4 to 7 the same with streaming hints.
extern "C" cudaError_t ceilings_move(long long reads, long long writes, long long way, const uint4* in, uint4* out,
                                     long long bytes_each, unsigned* sink, cudaStream_t stream) {
    const long long count = bytes_each / 16;
    if (reads == 0 && writes == 1) return move_way<0, true>(way, in, out, count, sink, stream);
    if (reads == 1 && writes == 1) return move_way<1, true>(way, in, out, count, sink, stream);
    if (reads == 2 && writes == 1) return move_way<2, true>(way, in, out, count, sink, stream);
    if (reads == 3 && writes == 1) return move_way<3, true>(way, in, out, count, sink, stream);
    if (reads == 1 && writes == 0) return move_way<1, false>(way, in, out, count, sink, stream);
    return cudaErrorInvalidValue;
}

// Two blocks of 1024 threads a multiprocessor; `bytes` is a multiple of what they read at once.
extern "C" cudaError_t ceilings_l2(const uint4* data, long long bytes, long long loads, unsigned* sink, long long sms,
                                   cudaStream_t stream) {
    l2_kernel<<<static_cast<unsigned>(2 * sms), 1024, 0, stream>>>(data, bytes / 16, loads, sink);
    return cudaGetLastError();
}

// Eight loads of 16 bytes a thread and round, eight blocks of 256 threads a multiprocessor.
extern "C" cudaError_t ceilings_shared(long long rounds, unsigned* sink, long long sms, cudaStream_t stream) {
    shared_kernel<<<static_cast<unsigned>(8 * sms), THREADS, 0, stream>>>(rounds, sink);
    return cudaGetLastError();
}

// A sector of each of `lines` lines, a multiple of what a block takes.
extern "C" cudaError_t ceilings_host_sectors(const unsigned* in, long long lines, unsigned* sink, cudaStream_t stream) {
    host_sectors_kernel<<<static_cast<unsigned>(lines / (THREADS * 4)), THREADS, 0, stream>>>(in, sink);
    return cudaGetLastError();
}
