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

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>

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

constexpr unsigned MOST_WARPS = 32, COPIED_AT_ONCE = 16;
constexpr size_t WITHOUT_LEAVE = 48 << 10, MOST_DYNAMIC = 227 << 10, GUARDED_BEHIND = 1 << 16, EMULATED_PAGE = 1024;

// ---- launches, dynamic shared memory

static cudaError_t emulated_status = cudaSuccess;
static size_t dynamic_bytes = 0;
static std::map<const void*, size_t> allowed_bytes;

inline cudaError_t take_status() {
    const cudaError_t status = emulated_status;
    emulated_status = cudaSuccess;
    return status;
}

inline cudaError_t allow(const void* kernel, size_t bytes) {
    if (bytes > MOST_DYNAMIC) return cudaErrorInvalidValue;
    allowed_bytes[kernel] = bytes;
    return cudaSuccess;
}

struct DynamicShared {
    size_t bytes = dynamic_bytes;
    unsigned char* memory;
    DynamicShared() {
        const size_t all = (bytes + GUARDED_BEHIND + EMULATED_PAGE - 1) / EMULATED_PAGE * EMULATED_PAGE;
        memory = static_cast<unsigned char*>(std::aligned_alloc(EMULATED_PAGE, all));
        std::memset(memory, 0xff, all);
    }
    ~DynamicShared() {
        for (size_t i = bytes; i < bytes + GUARDED_BEHIND; ++i) {
            if (memory[i] != 0xff) emulated_status = cudaErrorIllegalAddress;
        }
        std::free(memory);
    }
};

// Of the block, since each block is a thread of the host of its own.
inline unsigned char* dynamic_shared() {
    static thread_local DynamicShared shared;
    return shared.memory;
}

template <typename... A>
auto with_memory(void (*kernel)(A...), dim3 grid, dim3 block, size_t bytes) {
    return [=](A... arguments) {
        const auto leave = allowed_bytes.find(reinterpret_cast<const void*>(kernel));
        if (bytes > (leave == allowed_bytes.end() ? WITHOUT_LEAVE : std::max(WITHOUT_LEAVE, leave->second))) {
            emulated_status = cudaErrorInvalidValue;
            return;
        }
        gridDim = grid;
        blockDim = block;
        dynamic_bytes = bytes;
        fiber_body = [=] { kernel(arguments...); };
        for (unsigned i = 0; i < grid.x * grid.y * grid.z; ++i) {
            Cluster one(1);
            std::thread(run_block, &one, uint3{i % grid.x, i / grid.x % grid.y, i / grid.x / grid.y}).join();
        }
    };
}

// ---- asynchronous copies

struct EmulatedCopy {
    unsigned char* to;
    unsigned char bytes[COPIED_AT_ONCE];
};
struct CopiesOfThread {
    std::vector<EmulatedCopy> open;
    std::deque<std::vector<EmulatedCopy>> groups;
};

static thread_local std::map<unsigned, CopiesOfThread> copies_of_threads;
static thread_local std::vector<EmulatedCopy> arrived_copies;  // waited for; to be seen behind the next barrier

inline void settle_copies() {
    for (const EmulatedCopy& copy : arrived_copies) std::memcpy(copy.to, copy.bytes, COPIED_AT_ONCE);
    arrived_copies.clear();
}

inline void meet_and_settle() {
    const unsigned before = block_door.opened;
    block_door.arrive(blockDim.x, settle_copies);
    while (block_door.opened == before) let_others_run();
}

inline bool starts_on(const void* address, unsigned to) { return reinterpret_cast<uintptr_t>(address) % to == 0; }

inline void copy_async_16(void* to, const void* from, bool inside = true) {
    EmulatedCopy copy = {static_cast<unsigned char*>(to), {}};
    std::memset(to, 0xff, COPIED_AT_ONCE);
    if (!starts_on(to, COPIED_AT_ONCE) || !starts_on(from, COPIED_AT_ONCE)) return;
    if (inside) std::memcpy(copy.bytes, from, COPIED_AT_ONCE);
    copies_of_threads[threadIdx.x].open.push_back(copy);
}
void copy_async_16(void*, const void*, int) = delete;  // is it a number of bytes, or a condition?

inline void commit_copies() {
    CopiesOfThread& mine = copies_of_threads[threadIdx.x];
    mine.groups.push_back(std::move(mine.open));
    mine.open.clear();
}

template <int N>
void wait_for_copies() {
    CopiesOfThread& mine = copies_of_threads[threadIdx.x];
    for (; mine.groups.size() > N; mine.groups.pop_front()) {
        arrived_copies.insert(arrived_copies.end(), mine.groups.front().begin(), mine.groups.front().end());
    }
}

// ---- fragments

static thread_local const unsigned char* row_of_lane[MOST_WARPS][LANES_A_WARP];
static thread_local unsigned operands_of_lanes[MOST_WARPS][LANES_A_WARP][6];

inline float half_of(unsigned word, unsigned high) { return __uint_as_float(high ? word & 0xffff0000u : word << 16); }

inline void drift_apart() {
    for (unsigned turns = (threadIdx.x / LANES_A_WARP + blockIdx.x) % 3; turns > 0; --turns) let_others_run();
}

inline bool in_the_same_banks(const unsigned char* const* rows) {
    for (unsigned i = 0; i < 8; ++i) {
        for (unsigned j = 0; j < i; ++j) {
            const uintptr_t a = reinterpret_cast<uintptr_t>(rows[i]), b = reinterpret_cast<uintptr_t>(rows[j]);
            if (a != b && (a / COPIED_AT_ONCE - b / COPIED_AT_ONCE) % 8 == 0) return true;
        }
    }
    return false;
}

inline void load_matrices(unsigned (&r)[4], const void* row, bool transposed) {
    const unsigned warp = threadIdx.x / LANES_A_WARP, lane = threadIdx.x % LANES_A_WARP;
    const bool looks_at_banks = std::getenv("EMULATED_CONFLICTS") != nullptr;
    drift_apart();
    row_of_lane[warp][lane] = static_cast<const unsigned char*>(row);
    __syncwarp();
    for (unsigned matrix = 0; matrix < 4; ++matrix) {
        const unsigned char* const* rows = row_of_lane[warp] + 8 * matrix;
        const bool conflict = looks_at_banks && in_the_same_banks(rows);
        r[matrix] = 0;
        for (unsigned half = 0; half < 2; ++half) {
            const unsigned up = transposed ? 2 * (lane % 4) + half : lane / 4;
            const unsigned along = transposed ? lane / 4 : 2 * (lane % 4) + half;
            uint16_t element = 0xffff;
            if (starts_on(rows[up], COPIED_AT_ONCE) && !conflict) std::memcpy(&element, rows[up] + 2 * along, 2);
            r[matrix] |= static_cast<unsigned>(element) << 16 * half;
        }
    }
    __syncwarp();
}

inline void ldmatrix_x4(unsigned (&r)[4], const void* row) { load_matrices(r, row, false); }
inline void ldmatrix_x4_trans(unsigned (&r)[4], const void* row) { load_matrices(r, row, true); }

// A's element of a row and a column, B's of a row (along k) and a column.
inline float element_of_a(const unsigned (*lanes)[6], unsigned row, unsigned col) {
    return half_of(lanes[row % 8 * 4 + col % 8 / 2][row / 8 + 2 * (col / 8)], col % 2);
}
inline float element_of_b(const unsigned (*lanes)[6], unsigned row, unsigned col) {
    return half_of(lanes[col * 4 + row % 8 / 2][4 + row / 8], row % 2);
}

inline void mma_m16n8k16(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    const unsigned warp = threadIdx.x / LANES_A_WARP, lane = threadIdx.x % LANES_A_WARP;
    const unsigned mine[6] = {a[0], a[1], a[2], a[3], b0, b1};
    std::memcpy(operands_of_lanes[warp][lane], mine, sizeof(mine));
    __syncwarp();
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned row = lane / 4 + i / 2 * 8, col = lane % 4 * 2 + i % 2;
        for (unsigned k = 0; k < 16; ++k) {
            c[i] += element_of_a(operands_of_lanes[warp], row, k) * element_of_b(operands_of_lanes[warp], k, col);
        }
    }
    __syncwarp();
}
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
static thread_local float tiles[MOST_WARPS][3][SIDE * SIDE];

template <typename Use, int M, int N, int K, typename T, typename Layout = void>
struct fragment {
    static_assert(M == 16 && N == 16 && K == 16, "only these are emulated");
    static constexpr int num_elements = EACH;
    T x[EACH];
};

// Where the tile has a lane's element: a permutation that no kernel can have been written for.
inline unsigned place_of(unsigned i) {
    return ((threadIdx.x % LANES_A_WARP * EACH + i) * 77 + 41) % (SIDE * SIDE);
}

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
    float (&all)[3][SIDE * SIDE] = tiles[threadIdx.x / LANES_A_WARP];
    for (unsigned i = 0; i < EACH; ++i) {
        all[0][place_of(i)] = static_cast<float>(a.x[i]);
        all[1][place_of(i)] = static_cast<float>(b.x[i]);
        all[2][place_of(i)] = c.x[i];
    }
    __syncwarp();
    for (unsigned i = 0; i < EACH; ++i) {
        const unsigned row = place_of(i) / SIDE, col = place_of(i) % SIDE;
        float sum = all[2][row * SIDE + col];
        for (unsigned k = 0; k < SIDE; ++k) sum += all[0][row * SIDE + k] * all[1][k * SIDE + col];
        d.x[i] = sum;
    }
    __syncwarp();
}
}  // namespace wmma
