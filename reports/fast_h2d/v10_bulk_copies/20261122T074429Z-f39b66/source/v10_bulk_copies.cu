// Changes: no lane carries data. Tokens travel by bulk copies, host to shared memory to output. Eight SMs have a share
// of the tokens each: a block takes nearly all of an SM's shared memory, so one SM has one block. Each thread turns two
// slots in a ring of its own.
//
// expected: `host-link-bound`, at its ceiling: level with v6, 47 to 48.7 GB/s, on eight SMs. Two were too few, 22.5
//   GB/s: an SM's bulk copies carry 11 however many of them have been issued. Five carry 56, if that adds up; a link
//   that is shared wants some more. No counter of the load-store unit sees the tokens: sectors a request are not to be
//   had.
#include <cuda_runtime.h>

#include "bulk_copy.cuh"

constexpr int BLOCKS = 8;  // SMs
constexpr int MOST_THREADS = 160;
constexpr int SLOTS = 2;  // a thread
constexpr int LANES = 32;
constexpr long long ROOM = 220 * 1024;  // of the 227 KB that a block of an H100 or H200 can have

// Shared memory: the barriers of all slots, then the slots.
__global__ void __launch_bounds__(MOST_THREADS)
    gather_bulk(const unsigned char* table, const long long* src, const long long* dst, unsigned char* out,
                long long tokens, int width) {
#if HAS_BULK_COPY
    extern __shared__ __align__(128) unsigned char room[];
    unsigned long long* barriers = reinterpret_cast<unsigned long long*>(room) + threadIdx.x * SLOTS;
    unsigned char* slots = room + blockDim.x * SLOTS * sizeof(unsigned long long) + threadIdx.x * SLOTS * width;
    const long long first = tokens * blockIdx.x / BLOCKS + threadIdx.x, end = tokens * (blockIdx.x + 1) / BLOCKS;
    const long long step = blockDim.x;
#pragma unroll
    for (int s = 0; s < SLOTS; ++s) {
        make_barrier(barriers + s);
        const long long i = first + s * step;
        if (i < end) fetch(slots + s * width, table + src[i] * width, width, barriers + s);
    }
    unsigned parity = 0;
    for (long long i = first; i < end; i += SLOTS * step) {
#pragma unroll
        for (int s = 0; s < SLOTS; ++s) {
            const long long mine = i + s * step, next = mine + SLOTS * step;
            if (mine >= end) break;
            const long long target = dst[mine];  // both on their way while the token is
            const long long source = next < end ? src[next] : 0;
            await(barriers + s, parity);
            store(out + target * width, slots + s * width, width);
            if (next >= end) continue;
            await_stores_read();
            fetch(slots + s * width, table + source * width, width, barriers + s);
        }
        parity ^= 1;
    }
    await_stores();
#endif
}

extern "C" cudaError_t fast_h2d(const unsigned char* table, const long long* src, const long long* dst,
                                const long long* /*src_host*/, const long long* /*dst_host*/, unsigned char* out,
                                long long tokens, long long /*rows*/, long long width, long long /*grid*/,
                                long long /*block*/, cudaStream_t stream) {
    if (tokens < 0 || width < 0 || width % 16) return cudaErrorInvalidValue;
    if ((reinterpret_cast<size_t>(table) | reinterpret_cast<size_t>(out)) % 16) return cudaErrorMisalignedAddress;
    if (tokens == 0 || width == 0) return cudaSuccess;
    const long long each = SLOTS * (width + static_cast<long long>(sizeof(unsigned long long)));  // bytes a thread
    if (each > ROOM / LANES) return cudaErrorInvalidValue;  // a token of 3.5 KB and more: not for this way
    const long long fitting = ROOM / each / LANES * LANES;
    const int threads = static_cast<int>(fitting < MOST_THREADS ? fitting : MOST_THREADS);
    int device = 0, major = 0;
    cudaError_t status = cudaGetDevice(&device);
    if (status == cudaSuccess) status = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (status != cudaSuccess) return status;
    if (major < 9) return cudaErrorNotSupported;
    status = cudaFuncSetAttribute(gather_bulk, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(ROOM));
    if (status != cudaSuccess) return status;
    gather_bulk<<<BLOCKS, threads, ROOM, stream>>>(table, src, dst, out, tokens, static_cast<int>(width));
    return cudaGetLastError();
}
