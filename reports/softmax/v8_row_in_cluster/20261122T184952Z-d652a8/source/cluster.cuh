// Clusters of blocks that read and write each other's shared memory (PTX ISA, "barrier.cluster", "mapa", "st.async",
// "mbarrier"), for compute capability 9.0 and above.
#pragma once
#include <cuda_runtime.h>

#include "statistics.cuh"

constexpr int MOST_BLOCKS = 8;  // a cluster, on every GPU that has them

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define HAS_CLUSTERS 1
#else
#define HAS_CLUSTERS 0
#endif

#if HAS_CLUSTERS
__device__ inline int rank_in_cluster() {
    int rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// Every thread of the cluster arrives and waits. What was written before the one can be read after the other, except
// for an arrival without a fence: after that only barriers in shared memory are ready.
__device__ inline void arrive_in_cluster() { asm volatile("barrier.cluster.arrive.aligned;" ::: "memory"); }
__device__ inline void arrive_without_fence() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
__device__ inline void await_cluster() { asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); }

__device__ inline unsigned address_in_shared(const void* here) {
    return static_cast<unsigned>(__cvta_generic_to_shared(here));
}
// The address, in the cluster, of the place in block `rank` that `here` is in this block.
__device__ inline unsigned address_in(int rank, const void* here) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address_in_shared(here)), "r"(rank));
    return there;
}

// Writes to that place.
__device__ inline void write_to(int rank, Statistics* here, Statistics value) {
    const unsigned there = address_in(rank, here);
    asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(there), "f"(value.max), "f"(value.sum) : "memory");
}

// A barrier in shared memory that opens once, when all bytes have come that are expected.
struct Arrivals {
    unsigned long long barrier;
};
// One thread expects bytes before anybody arrives at the cluster's barrier.
__device__ inline void expect_bytes(Arrivals& arrivals, unsigned bytes) {
    const unsigned barrier = address_in_shared(&arrivals.barrier);
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
// Writes as write_to does, some time later, and tells that block's arrivals.
__device__ inline void send_to(int rank, Statistics* here, Statistics value, Arrivals& arrivals) {
    const unsigned there = address_in(rank, here), barrier = address_in(rank, &arrivals.barrier);
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(there),
                 "f"(value.max), "f"(value.sum), "r"(barrier)
                 : "memory");
}
// What was sent can be read from here on.
__device__ inline void await_bytes(Arrivals& arrivals) {
    const unsigned barrier = address_in_shared(&arrivals.barrier);
    unsigned is_open = 0;
    while (!is_open) {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
            : "=r"(is_open)
            : "r"(barrier)
            : "memory");
    }
}
#endif
