// Boxes of matrices copied by TMA, the tensor memory accelerator, and the barriers in shared memory that count what it
// brings (PTX ISA, "cp.async.bulk.tensor", "mbarrier"), for compute capability 9.0 and above.
#pragma once
#include <cuda.h>  // types; the one function is asked of the driver
#include "fragments.cuh"

struct Barrier {
    unsigned long long word;
};

__device__ inline unsigned in_shared(const void* address) {
    return static_cast<unsigned>(__cvta_generic_to_shared(address));
}

// Opens when as many have arrived, and all bytes that they expect.
__device__ inline void make_barrier(Barrier* barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(in_shared(barrier)), "r"(arrivals) : "memory");
}

// Barriers that this thread has made are ready for TMA and, behind a barrier of the cluster, for other blocks.
__device__ inline void show_barriers() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ inline void arrive(Barrier* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(in_shared(barrier)) : "memory");
}

__device__ inline void arrive_expecting(Barrier* barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(in_shared(barrier)), "r"(bytes)
                 : "memory");
}

// Until the opening of this parity: 0 is a barrier's first, 1 its second, 0 its third. That of parity 1 before its
// first counts as over.
__device__ inline void await(Barrier* barrier, unsigned parity) {
    unsigned is_open;
    do {
        asm volatile(
            "{\n.reg .pred p;\n"
            "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
            "selp.u32 %0, 1, 0, p;\n}"
            : "=r"(is_open)
            : "r"(in_shared(barrier)), "r"(parity)
            : "memory");
    } while (!is_open);
}

// The box at this row and column, zeros where the matrix has none.
__device__ inline void fetch_box(bf16* to, const CUtensorMap& matrix, int row, int col, Barrier* barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            in_shared(to)),
        "l"(&matrix), "r"(col), "r"(row), "r"(in_shared(barrier))
        : "memory");
}

// What this thread has written to shared memory is there for TMA.
__device__ inline void show_writes() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Nothing is written where the matrix has no place. One group of stores of this thread.
__device__ inline void store_box(const CUtensorMap& matrix, int row, int col, const bf16* from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&matrix), "r"(col),
                 "r"(row), "r"(in_shared(from))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Until at most the last N groups of this thread have still to be read from shared memory.
template <int N>
__device__ inline void await_stores_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

// Of a row-major matrix of which rows start on 16 bytes: boxes of `tall` rows and DEPTH columns, chunks of a row where
// `place` has them.
inline cudaError_t describe(CUtensorMap* map, const bf16* matrix, int rows, int cols, int tall) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult what;
    const cudaError_t status =
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &what);
    if (status != cudaSuccess) return status;
    if (what != cudaDriverEntryPointSuccess) return cudaErrorNotSupported;
    const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
    const cuuint64_t sizes[] = {static_cast<cuuint64_t>(cols), static_cast<cuuint64_t>(rows)};
    const cuuint64_t apart[] = {static_cast<cuuint64_t>(cols) * sizeof(bf16)};
    const cuuint32_t box[] = {DEPTH, static_cast<cuuint32_t>(tall)}, every[] = {1, 1};
    const CUresult result =
        encode(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<bf16*>(matrix), sizes, apart, box, every,
               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

struct Operands {
    CUtensorMap x, weight;
};

inline cudaError_t describe(Operands* operands, const Layer& layer, int tall, int wide) {
    const cudaError_t status = describe(&operands->x, layer.x, layer.m, layer.k, tall);
    return status == cudaSuccess ? describe(&operands->weight, layer.weight, layer.n, layer.k, wide) : status;
}
