// Tiles of q, k and v copied by TMA, the tensor memory accelerator, and the barriers in shared memory that count what
// it brings (PTX ISA, "cp.async.bulk.tensor", "mbarrier"), for compute capability 9.0 and above.
#pragma once
#include <cuda.h>  // types; the one function is asked of the driver
#include "calling.cuh"

constexpr int GROUP_ROWS = 64;  // queries of a warp group
constexpr int PANEL = 64;  // columns of a tile that lie together: rows of 128 bytes, swizzled

struct Barrier {
    unsigned long long word;
};

// Of the block, its launch says how much. Tiles start on 1024 bytes, as their swizzle repeats.
__device__ inline unsigned char* shared_memory() {
    extern __shared__ __align__(1024) unsigned char of_block[];
    return of_block;
}

__device__ inline unsigned in_shared(const void* address) {
    return static_cast<unsigned>(__cvta_generic_to_shared(address));
}

// Opens when as many have arrived, and all bytes that they expect.
__device__ inline void make_barrier(Barrier* barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(in_shared(barrier)), "r"(arrivals) : "memory");
}

// Barriers that this thread has made are ready for TMA.
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

// Rows of one head, a panel of 64 columns behind the other; zeros where the head has none.
__device__ inline void fetch_rows(bf16* to, const CUtensorMap& matrix, int head, int row, Barrier* barrier) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %2, %4}], "
        "[%5];" ::"r"(in_shared(to)),
        "l"(&matrix), "r"(0), "r"(row), "r"(head), "r"(in_shared(barrier))
        : "memory");
}

// Of a row-major [heads, rows, dim]: boxes of `tall` rows of a head.
inline cudaError_t describe(CUtensorMap* map, const bf16* matrix, long long heads, int rows, int dim, int tall) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult what;
    const cudaError_t status =
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &what);
    if (status != cudaSuccess) return status;
    if (what != cudaDriverEntryPointSuccess) return cudaErrorNotSupported;
    const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
    const cuuint64_t long_row = static_cast<cuuint64_t>(dim) * sizeof(bf16), panels = dim / PANEL;
    const cuuint64_t sizes[] = {PANEL, static_cast<cuuint64_t>(rows), panels, static_cast<cuuint64_t>(heads)};
    const cuuint64_t apart[] = {long_row, PANEL * sizeof(bf16), long_row * rows};
    const cuuint32_t box[] = {PANEL, static_cast<cuuint32_t>(tall), static_cast<cuuint32_t>(panels), 1};
    const cuuint32_t every[] = {1, 1, 1, 1};
    const CUresult result =
        encode(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4, const_cast<bf16*>(matrix), sizes, apart, box, every,
               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

struct Operands {
    CUtensorMap q, k, v;
};

inline cudaError_t describe(Operands* operands, const Attention& a, long long heads, int dim, int rows, int keys) {
    cudaError_t status = describe(&operands->q, a.q, heads, a.queries, dim, rows);
    if (status == cudaSuccess) status = describe(&operands->k, a.k, heads, a.keys, dim, keys);
    if (status == cudaSuccess) status = describe(&operands->v, a.v, heads, a.keys, dim, keys);
    return status;
}
