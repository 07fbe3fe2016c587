// Tensor cores, their loads and asynchronous copies as PTX has them (PTX ISA: "mma", "ldmatrix", "cp.async"), for
// compute capability 8.0 and above.
#pragma once
#include <cuda_runtime.h>

// Of the block, its launch says how much. Starts on 1024 bytes where nothing static stands before it.
__device__ inline unsigned char* dynamic_shared() {
    extern __shared__ __align__(1024) unsigned char memory[];
    return memory;
}

// c += a * b, 16 x 8 sums, 16 products each. With g = lane / 4 and t = lane % 4, a lane has
//   of a, a pair of columns a register: row g, columns 2t; row g + 8; row g, columns 2t + 8; row g + 8, columns 2t + 8
//   of b, a pair of rows a register: rows 2t, column g; rows 2t + 8, column g
//   of c: row g, columns 2t and 2t + 1; row g + 8, the same columns
__device__ inline void mma_m16n8k16(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four matrices of 8 x 8 halves from shared memory. Lane i points to row i % 8 of matrix i / 8, 16 bytes; it gets the
// pair of columns 2 (i % 4) of row i / 4 of each.
__device__ inline void ldmatrix_x4(unsigned (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
                 : "memory");
}

// 16 bytes from global to shared memory, past registers and L1; zeros, and nothing is read, where not inside. L2
// fetches whole lines: left to itself, the compiler asks for that in some kernels and not in others.
__device__ inline void copy_async_16(void* to, const void* from, bool inside) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(from), "r"(inside ? 16 : 0)
                 : "memory");
}

// Closes this thread's group of copies, which may be empty.
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Until at most the last N groups of this thread are under way. Others see what has arrived behind a barrier.
template <int N>
__device__ inline void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
