// What the bench enqueues around a call: a hold on the stream, clock stamps, an L2 flush, an empty kernel.
#include <cuda_runtime.h>

static __device__ unsigned long long global_ns() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

// `release` and `late` lie in pinned host memory: the host writes the one while the kernel spins, the kernel the other.
__global__ void hold_kernel(const volatile unsigned* release, volatile unsigned* late, unsigned long long limit_ns) {
    const unsigned long long start = global_ns();
    while (*release == 0) {
        if (global_ns() - start > limit_ns) {
            *late = 1;
            return;
        }
    }
}

// A block a multiprocessor; two that share one write the same entry. Time and clock are read back to back.
__global__ void stamp_kernel(ulonglong2* stamps, unsigned count) {
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    const unsigned long long clock = clock64(), time = global_ns();
    if (sm < count) stamps[sm] = make_ulonglong2(clock, time);
}

// Plain loads of a clean buffer evict what is in L2 and leave nothing to write back.
__global__ void read_kernel(const float4* data, long long count, float* sink) {
    float sum = 0.0f;
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
        const float4 v = data[i];
        sum += v.x + v.y + v.z + v.w;
    }
    if (sum == 3.0e38f) *sink = sum;  // never: the buffer holds zeros, but the compiler does not know
}

__global__ void empty_kernel() {}

extern "C" cudaError_t bench_hold(const unsigned* release, unsigned* late, long long limit_ns, cudaStream_t stream) {
    hold_kernel<<<1, 1, 0, stream>>>(release, late, limit_ns);
    return cudaGetLastError();
}

extern "C" cudaError_t bench_stamp(ulonglong2* stamps, long long count, cudaStream_t stream) {
    stamp_kernel<<<static_cast<unsigned>(count), 1, 0, stream>>>(stamps, static_cast<unsigned>(count));
    return cudaGetLastError();
}

extern "C" cudaError_t bench_read(const float4* data, long long bytes, float* sink, long long sms, cudaStream_t stream) {
    read_kernel<<<static_cast<unsigned>(8 * sms), 256, 0, stream>>>(data, bytes / 16, sink);
    return cudaGetLastError();
}

// Lines that a kernel asked L2 to keep (evict_last, persisting) outlive plain reads of three times the cache. This makes
// them ordinary lines. Chips that keep none, and GPUs cut up by MIG, have nothing to let go of.
extern "C" cudaError_t bench_unpin(cudaStream_t) {
    int device = 0, most = 0;
    cudaError_t status = cudaGetDevice(&device);
    if (status == cudaSuccess) status = cudaDeviceGetAttribute(&most, cudaDevAttrMaxPersistingL2CacheSize, device);
    return status == cudaSuccess && most > 0 ? cudaCtxResetPersistingL2Cache() : status;
}

extern "C" cudaError_t bench_memset(void* data, long long bytes, cudaStream_t stream) {
    return cudaMemsetAsync(data, 0, bytes, stream);
}

extern "C" cudaError_t bench_empty(cudaStream_t stream) {
    empty_kernel<<<1, 1, 0, stream>>>();
    return cudaGetLastError();
}
