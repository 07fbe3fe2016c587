// Bulk copies between global and shared memory (PTX ISA, "cp.async.bulk"), for compute capability 9.0 and above. Every
// size and address is a multiple of 16. A fetch counts on a barrier in shared memory, stores are waited for as a
// group.
#pragma once
#include <cuda_runtime.h>

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define HAS_BULK_COPY 1
#else
#define HAS_BULK_COPY 0
#endif

#if HAS_BULK_COPY
__device__ inline unsigned in_shared(const void* address) {
    return static_cast<unsigned>(__cvta_generic_to_shared(address));
}

// Makes a barrier that one thread arrives at. The fence shows it to the copy engine too.
__device__ inline void make_barrier(unsigned long long* barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(in_shared(barrier)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ inline void fetch(void* shared, const void* global, unsigned bytes, unsigned long long* barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(in_shared(barrier)), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     in_shared(shared)),
                 "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(in_shared(barrier))
                 : "memory");
}

// Waits until the fetch of this parity has arrived: 0 for the first of a barrier, 1 for the second, 0 again.
__device__ inline void await(unsigned long long* barrier, unsigned parity) {
    unsigned done;
    do {
        asm volatile(
            "{\n.reg .pred p;\n"
            "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
            "selp.u32 %0, 1, 0, p;\n}"
            : "=r"(done)
            : "r"(in_shared(barrier)), "r"(parity)
            : "memory");
    } while (!done);
}

__device__ inline void store(void* global, const void* shared, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(global)),
                 "r"(in_shared(shared)), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until the stores of this thread have read shared memory, which may then be overwritten.
__device__ inline void await_stores_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
__device__ inline void await_stores() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
#endif
