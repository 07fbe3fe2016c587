// Clusters of blocks that read and write each other's shared memory (PTX ISA, "barrier.cluster", "mapa"), for compute
// capability 9.0 and above.
#pragma once
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

// Every thread of the cluster arrives and waits. What was written before the one can be read after the other.
__device__ inline void arrive_in_cluster() { asm volatile("barrier.cluster.arrive.aligned;" ::: "memory"); }
__device__ inline void await_cluster() { asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); }

// Writes into the shared memory of the cluster's block `rank`, at the place that `here` is in this block's.
__device__ inline void write_to(int rank, Part* here, Part value) {
    const unsigned mine = static_cast<unsigned>(__cvta_generic_to_shared(here));
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(mine), "r"(rank));
    asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(there), "f"(value.count), "f"(value.mean)
                 : "memory");
    asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(there + 8), "f"(value.squares) : "memory");
}
#endif

// Has L2 fetch a block's share of a row, `most` packs from `first` on or as many as there are, without a register for
// it; not where a share does not start on 16 bytes, as is asked for ("cp.async.bulk.prefetch").
template <typename Raw>
__device__ inline void fetch_to_l2(const Raw* row, int first, int most, int packs) {
#if defined(__CUDA_ARCH__) && HAS_CLUSTERS
    const int left = packs - first, count = left < most ? left : most;
    if (sizeof(Raw) != sizeof(uint4) || count <= 0) return;
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(row + first), "r"(count * 16));
#endif
}
