// Adds to emulation.h what kernels with warps and clusters need. A block is a thread of the host, whose thread-local
// statics are its shared memory; a thread of the block is a fiber, so that hundreds of them can meet at every
// shuffle. The blocks of a cluster run at the same time.
#pragma once
#include "emulation.h"

#undef __shared__
#define __shared__ static thread_local
#define emulated(kernel, grid, block) on_fibers(kernel, grid, block, 1)
#define cudaLaunchKernelEx launched_with_attributes
#define cudaGetDevice(device) (*(device) = 0, cudaSuccess)
#define cudaDeviceGetAttribute(value, name, device) (*(value) = 9, cudaSuccess)

extern __thread double exchanged[LANES_A_WARP * LANES_A_WARP];
void let_others_run();
void run_in_clusters(dim3 grid, dim3 block, unsigned cluster_size, Body thread);

template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask) {
    static_assert(sizeof(T) <= sizeof(double), "does not fit");
    std::memcpy(exchanged + threadIdx.x, &value, sizeof(T));
    __syncwarp();
    std::memcpy(&value, exchanged + (threadIdx.x ^ mask), sizeof(T));
    __syncwarp();
    return value;
}

template <typename T>
T __shfl_sync(unsigned, T value, int from, int width = LANES_A_WARP) {
    static_assert(sizeof(T) <= sizeof(double), "does not fit");
    std::memcpy(exchanged + threadIdx.x, &value, sizeof(T));
    __syncwarp();
    std::memcpy(&value, exchanged + (threadIdx.x / width * width + from), sizeof(T));
    __syncwarp();
    return value;
}

int rank_in_cluster();
void arrive_in_cluster();
void await_cluster();
// A barrier of the cluster with release and acquire or without is the same one here.
inline void arrive_without_fence() { arrive_in_cluster(); }

// Bytes that are still to come. Nothing of them is seen before all are there.
struct Arrivals {
    unsigned bytes;
};
inline void expect_bytes(Arrivals& arrivals, unsigned bytes) { arrivals.bytes = bytes; }
void await_bytes(const Arrivals& arrivals);

constexpr unsigned MOST_WRITTEN = 16;  // bytes, to another block at once
// To where `here` is in another block. What a real one would break on spoils this block instead.
void write_bytes_to(int rank, void* here, const void* value, unsigned size);
void send_bytes_to(int rank, void* here, const void* value, unsigned size, Arrivals& arrivals);
template <typename T>
void write_to(int rank, T* here, T value) {
    static_assert(sizeof(T) <= MOST_WRITTEN, "does not fit");
    write_bytes_to(rank, here, &value, sizeof(T));
}
template <typename T>
void send_to(int rank, T* here, T value, Arrivals& arrivals) {
    static_assert(sizeof(T) <= MOST_WRITTEN, "does not fit");
    send_bytes_to(rank, here, &value, sizeof(T), arrivals);
}

template <typename... A>
auto on_fibers(void (*kernel)(A...), dim3 grid, dim3 block, unsigned cluster_size) {
    return [=](A... arguments) {
        const auto thread = [&] { kernel(arguments...); };
        run_in_clusters(grid, block, cluster_size, body_of(thread));
    };
}

template <typename... A, typename... B>
cudaError_t launched_with_attributes(const cudaLaunchConfig_t* config, void (*kernel)(A...), B... arguments) {
    const unsigned size = config->numAttrs ? config->attrs->val.clusterDim.x : 1;
    if (config->gridDim.x % size) return cudaErrorInvalidConfiguration;
    on_fibers(kernel, config->gridDim, config->blockDim, size)(arguments...);
    return cudaSuccess;
}
