// Baseline: the usual way without zero-copy. The host gathers into pinned staging memory, already in the order of the
// output, and one copy crosses the link. The gather is host work in the stream's order (cudaLaunchHostFunc), so its
// time is part of the call's.
//
// expected: no launch, so nothing for ncu and no rule to name it. The copy alone is 3.1 ms, at the rate of the copy
//   engine; the gather reads and writes 172 MB in the host's memory at random rows, 10 to 40 ms on 16 threads. 4 to 12
//   GB/s.
#include <algorithm>
#include <array>
#include <cstring>
#include <cuda_runtime.h>
#include <exception>
#include <memory>
#include <new>
#include <thread>

constexpr unsigned MOST_THREADS = 16;
constexpr long long FEW = 1024;  // tokens a thread below which another is not worth its start

struct Job {
    const unsigned char* table;
    const long long *src, *dst;
    unsigned char* staging;
    long long tokens, width;

    void gather(long long first, long long last) const {
        for (long long i = first; i < last; ++i) std::memcpy(staging + dst[i] * width, table + src[i] * width, width);
    }
};

// Kept between calls: allocating pinned memory takes longer than the gather. One stream uses it at a time.
static unsigned char* staging = nullptr;
static long long staged = 0;

static cudaError_t make_room(long long size, cudaStream_t stream) {
    if (size <= staged) return cudaSuccess;
    cudaError_t status = cudaStreamSynchronize(stream);  // an earlier copy may not have left the old memory yet
    if (status == cudaSuccess) status = cudaFreeHost(staging);
    if (status != cudaSuccess) return status;
    staging = nullptr;
    staged = 0;
    status = cudaHostAlloc(reinterpret_cast<void**>(&staging), size, cudaHostAllocDefault);
    if (status == cudaSuccess) staged = size;
    return status;
}

// Nothing may be thrown into the driver: tokens for which no thread is to be had are gathered here.
static void CUDART_CB run(void* given) {
    const std::unique_ptr<const Job> job(static_cast<const Job*>(given));
    const long long tokens = job->tokens, cores = std::max(1u, std::thread::hardware_concurrency());
    const long long wanted = std::min<long long>({MOST_THREADS, cores, (tokens - 1) / FEW + 1});
    const long long each = (tokens - 1) / wanted + 1;
    std::array<std::thread, MOST_THREADS> threads;
    long long first = each;
    try {
        for (size_t i = 0; first < tokens; ++i, first += each) {
            threads[i] = std::thread(&Job::gather, job.get(), first, std::min(first + each, tokens));
        }
    } catch (const std::exception&) {
    }
    job->gather(0, std::min(each, tokens));
    job->gather(std::min(first, tokens), tokens);
    for (std::thread& thread : threads) {
        if (thread.joinable()) thread.join();
    }
}

extern "C" cudaError_t fast_h2d(const unsigned char* table, const long long* /*src*/, const long long* /*dst*/,
                                const long long* src_host, const long long* dst_host, unsigned char* out,
                                long long tokens, long long /*rows*/, long long width, long long /*grid*/,
                                long long /*block*/, cudaStream_t stream) {
    if (tokens < 0 || width < 0) return cudaErrorInvalidValue;
    if (tokens == 0 || width == 0) return cudaSuccess;
    cudaError_t status = make_room(tokens * width, stream);
    if (status != cudaSuccess) return status;
    Job* job = new (std::nothrow) Job{table, src_host, dst_host, staging, tokens, width};
    if (job == nullptr) return cudaErrorMemoryAllocation;
    status = cudaLaunchHostFunc(stream, run, job);
    if (status != cudaSuccess) {
        delete job;
        return status;
    }
    return cudaMemcpyAsync(out, staging, tokens * width, cudaMemcpyHostToDevice, stream);
}
