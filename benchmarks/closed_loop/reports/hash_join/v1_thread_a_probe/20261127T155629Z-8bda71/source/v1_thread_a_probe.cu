// A thread a probe.
#include <cuda_runtime.h>

constexpr int THREADS = 256;

__global__ void probe_table(const int* start, const int* key, const int* payload, const int* probe, int* result,
                            long long buckets, long long probes) {
    long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
    if (i >= probes) return;
    long long hash = static_cast<long long>(probe[i]) * 2654435761LL % 4294967296LL;
    long long bucket = hash % buckets;
    result[i] = -1;
    for (int entry = start[bucket]; entry < start[bucket + 1]; ++entry) {
        int found = payload[entry];
        if (key[entry] == probe[i]) result[i] = found;
    }
}

extern "C" cudaError_t hash_join(const int* start, const int* key, const int* payload, const int* probe, int* result,
                                 long long buckets, long long entries, long long probes, cudaStream_t stream) {
    unsigned blocks = static_cast<unsigned>((probes + THREADS - 1) / THREADS);
    probe_table<<<blocks, THREADS, 0, stream>>>(start, key, payload, probe, result, buckets, probes);
    return cudaGetLastError();
}
