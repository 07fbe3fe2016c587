// The PTX of this folder: products on tensor cores, loads of their operands, asynchronous copies.
#pragma once
#include <cuda_runtime.h>

// c += a b for 16 x 16 and 16 x 8 of bfloat16. Of lane 4 g + t: c[0], c[1] are of row g, columns 2 t and 2 t + 1, c[2],
// c[3] of row g + 8. a[0] to a[3] are two columns of rows g, g + 8, g, g + 8, the last two from column 8 on; b[0] and
// b[1] are two rows of column g, from row 2 t and 2 t + 8 on.
__device__ inline void mma_m16n8k16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ inline unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Four matrices of 8 x 8 halves. Lane i gives row i % 8 of matrix i / 8, 16 bytes, and lane 4 g + t gets columns 2 t
// and 2 t + 1 of row g of each; transposed, rows 2 t and 2 t + 1 of column g.
__device__ inline void ldmatrix_x4(unsigned (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}
__device__ inline void ldmatrix_x4_trans(unsigned (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

// 16 bytes to shared memory, past registers and L1; zeros, and nothing is read, where they are not inside.
__device__ inline void copy_async_16(void* to, const void* from, bool inside) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
                 "r"(inside ? 16 : 0)
                 : "memory");
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until at most the last N groups of this thread are under way. Others see what came only behind a barrier.
template <int N>
__device__ inline void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

__device__ inline unsigned char* dynamic_shared() {
    extern __shared__ __align__(128) unsigned char memory[];
    return memory;
}
