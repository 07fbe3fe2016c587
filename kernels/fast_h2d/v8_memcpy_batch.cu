// Baseline: cudaMemcpyBatchAsync, a copy of its own for every token, handed to the driver in one call (CUDA 13). It
// refuses the legacy default stream, so the batch runs on another that waits for it and is waited for.
//
// expected: no launch, so nothing for ncu and no rule to name it. The copy engine starts a copy in a microsecond or so
//   whatever its size: 0.2 to 1 s for 262,144 of them, below 1 GB/s, and longer to enqueue than the bench holds a
//   stream: samples are late, and the driver's own time on the host is not in the others. 1,024 tokens can be timed.
// measured: 32 ns a copy at 16,384 tokens, 20.7 GB/s; no time at 262,144, as expected.
#include <cuda_runtime.h>
#include <new>
#include <vector>

#if CUDART_VERSION >= 13000
static cudaError_t copy_all(const unsigned char* table, const long long* src, const long long* dst, unsigned char* out,
                            long long tokens, long long width, cudaStream_t stream) {
    std::vector<const void*> sources(tokens);
    std::vector<void*> targets(tokens);
    const std::vector<size_t> sizes(tokens, width);
    for (long long i = 0; i < tokens; ++i) {
        sources[i] = table + src[i] * width;
        targets[i] = out + dst[i] * width;
    }
    cudaMemcpyAttributes ordered{};
    ordered.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    size_t from_the_first = 0;
    // The arrays are arguments of the call, not of the copies: the driver has read them when it returns.
    return cudaMemcpyBatchAsync(targets.data(), sources.data(), sizes.data(), tokens, &ordered, &from_the_first, 1,
                                stream);
}

struct Side {
    cudaStream_t stream = nullptr;
    cudaEvent_t before = nullptr, after = nullptr;
    cudaError_t status = cudaSuccess;

    Side() {
        status = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        if (status == cudaSuccess) status = cudaEventCreateWithFlags(&before, cudaEventDisableTiming);
        if (status == cudaSuccess) status = cudaEventCreateWithFlags(&after, cudaEventDisableTiming);
    }
};

static cudaError_t copy_beside(const unsigned char* table, const long long* src, const long long* dst,
                               unsigned char* out, long long tokens, long long width, cudaStream_t stream) {
    static Side side;
    if (side.status != cudaSuccess) return side.status;
    cudaError_t status = cudaEventRecord(side.before, stream);
    if (status == cudaSuccess) status = cudaStreamWaitEvent(side.stream, side.before, 0);
    if (status == cudaSuccess) status = copy_all(table, src, dst, out, tokens, width, side.stream);
    if (status == cudaSuccess) status = cudaEventRecord(side.after, side.stream);
    if (status == cudaSuccess) status = cudaStreamWaitEvent(stream, side.after, 0);
    return status;
}
#endif

extern "C" cudaError_t fast_h2d(const unsigned char* table, const long long* /*src*/, const long long* /*dst*/,
                                const long long* src_host, const long long* dst_host, unsigned char* out,
                                long long tokens, long long /*rows*/, long long width, long long /*grid*/,
                                long long /*block*/, cudaStream_t stream) {
    if (tokens < 0 || width < 0) return cudaErrorInvalidValue;
    if (tokens == 0 || width == 0) return cudaSuccess;
#if CUDART_VERSION >= 13000
    try {
        return copy_beside(table, src_host, dst_host, out, tokens, width, stream);
    } catch (const std::bad_alloc&) {
        return cudaErrorMemoryAllocation;
    }
#else
    return cudaErrorNotSupported;
#endif
}
