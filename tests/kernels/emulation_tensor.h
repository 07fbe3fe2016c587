// Adds to emulation_warps.h what kernels on tensor cores need, in place of the functions of their mma.cuh and wmma.cuh,
// which hold the PTX:
//
//   mma_m16n8k16(c, a, b0, b1)        bfloat16 in, float sums; fragments as in the PTX ISA, "Matrix fragments for
//                                     mma.m16n8k16 with floating point type". Also with b as an array of two.
//   ldmatrix_x4(r, row)               four matrices of 8 x 8 halves; lane i gives row i % 8 of matrix i / 8
//   ldmatrix_x4_trans(r, row)         the same, each matrix transposed
//   copy_async_16(to, from, inside)   cp.async of 16 bytes; 16 zeros, and nothing read, where it is not inside
//   commit_copies()                   closes a thread's group of copies
//   wait_for_copies<N>()              until at most the last N groups of this thread are under way
//   dynamic_shared()                  the dynamic shared memory of the block
//   wmma::                            fragments of 16 x 16 x 16 whose elements lie where no kernel can know; its loads
//                                     and stores make no lane wait for another
//
// They are stricter than the hardware. From its issue on, what a copy will overwrite is NaN; it arrives at the first
// __syncthreads() after its thread has waited for it, and no sooner for that thread itself. Warps drift apart: at each
// load of a matrix some let others run ahead. Addresses that the hardware would refuse give NaN. So do rows that lie in
// the same banks, where the environment has EMULATED_CONFLICTS. Dynamic shared memory starts as NaN. More than 48 KB
// of it need cudaFuncSetAttribute; what is written behind its end is an error of the launch.
#pragma once
#include "emulation_warps.h"

#undef __syncthreads
#undef emulated
#undef cudaGetLastError
#define __syncthreads() meet_and_settle()
#define emulated(kernel, grid, block) with_memory(kernel, grid, block, 0)
#define emulated_with_memory(kernel, grid, block, bytes) with_memory(kernel, grid, block, bytes)
#define cudaGetLastError() take_status()
#define cudaFuncSetAttribute(kernel, attribute, value) allow(reinterpret_cast<const void*>(kernel), value)

using std::max;
using std::min;

cudaError_t take_status();
cudaError_t allow(const void* kernel, size_t bytes);
unsigned char* dynamic_shared();
void run_with_memory(const void* kernel, dim3 grid, dim3 block, size_t bytes, Body thread);

template <typename... A>
auto with_memory(void (*kernel)(A...), dim3 grid, dim3 block, size_t bytes) {
    return [=](A... arguments) {
        const auto thread = [&] { kernel(arguments...); };
        run_with_memory(reinterpret_cast<const void*>(kernel), grid, block, bytes, body_of(thread));
    };
}

// ---- asynchronous copies

void meet_and_settle();
void copy_async_16(void* to, const void* from, bool inside = true);
void copy_async_16(void*, const void*, int) = delete;  // is it a number of bytes, or a condition?
void commit_copies();
void wait_for_all_copies_but(unsigned groups);
template <int N>
void wait_for_copies() {
    wait_for_all_copies_but(N);
}

// ---- fragments

bool starts_on(const void* address, unsigned to);
void drift_apart();
void ldmatrix_x4(unsigned (&r)[4], const void* row);
void ldmatrix_x4_trans(unsigned (&r)[4], const void* row);
void mma_m16n8k16(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1);
inline void mma_m16n8k16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    mma_m16n8k16(c, a, b[0], b[1]);
}

// ---- wmma, 16 x 16 x 16, bfloat16 in, float sums

namespace wmma {
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
constexpr unsigned SIDE = 16, EACH = SIDE * SIDE / LANES_A_WARP;
// Of a warp: two factors and the sums, by rows.
float (&tiles_of_warp())[3][SIDE * SIDE];
unsigned place_of(unsigned i);
void multiply_tiles(float (&sums)[EACH]);

template <typename Use, int M, int N, int K, typename T, typename Layout = void>
struct fragment {
    static_assert(M == 16 && N == 16 && K == 16, "only these are emulated");
    static constexpr int num_elements = EACH;
    T x[EACH];
};

template <typename F, typename T>
void fill_fragment(F& f, T value) {
    for (auto& element : f.x) element = value;
}

template <typename T>
bool serves(const void* address, unsigned stride) { return starts_on(address, 32) && stride * sizeof(T) % 16 == 0; }

template <typename Use, typename T, typename Layout>
void load_matrix_sync(fragment<Use, 16, 16, 16, T, Layout>& f, const T* from, unsigned stride) {
    drift_apart();
    constexpr bool by_rows = std::is_same<Layout, row_major>::value;
    for (unsigned i = 0; i < EACH; ++i) {
        const unsigned row = place_of(i) / SIDE, col = place_of(i) % SIDE;
        const size_t at = by_rows ? row * static_cast<size_t>(stride) + col : col * static_cast<size_t>(stride) + row;
        if (serves<T>(from, stride)) f.x[i] = from[at];
        else std::memset(&f.x[i], 0xff, sizeof(T));
    }
}

template <typename T>
void store_matrix_sync(T* to, const fragment<accumulator, 16, 16, 16, T>& f, unsigned stride, layout_t layout) {
    for (unsigned i = 0; i < EACH; ++i) {
        const unsigned row = place_of(i) / SIDE, col = place_of(i) % SIDE;
        T& element = to[layout == mem_row_major ? row * static_cast<size_t>(stride) + col
                                                : col * static_cast<size_t>(stride) + row];
        if (serves<T>(to, stride)) element = f.x[i];
        else std::memset(&element, 0xff, sizeof(T));
    }
}

template <typename A, typename B, typename C>
void mma_sync(C& d, const A& a, const B& b, const C& c) {
    float (&all)[3][SIDE * SIDE] = tiles_of_warp();
    for (unsigned i = 0; i < EACH; ++i) {
        all[0][place_of(i)] = static_cast<float>(a.x[i]);
        all[1][place_of(i)] = static_cast<float>(b.x[i]);
        all[2][place_of(i)] = c.x[i];
    }
    multiply_tiles(d.x);
}
}  // namespace wmma
