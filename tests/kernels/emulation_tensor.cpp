// What emulates the tensor cores, copies and dynamic shared memory of emulation_tensor.h.
#include "emulation_runtime.h"
#include "emulation_tensor.h"

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <vector>

constexpr unsigned MOST_WARPS = 32, COPIED_AT_ONCE = 16;
constexpr size_t WITHOUT_LEAVE = 48 << 10, MOST_DYNAMIC = 227 << 10, GUARDED_BEHIND = 1 << 16, EMULATED_PAGE = 1024;

// ---- launches, dynamic shared memory

static cudaError_t emulated_status = cudaSuccess;
static size_t dynamic_bytes = 0;
static std::map<const void*, size_t> allowed_bytes;

cudaError_t take_status() {
    const cudaError_t status = emulated_status;
    emulated_status = cudaSuccess;
    return status;
}

cudaError_t allow(const void* kernel, size_t bytes) {
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
unsigned char* dynamic_shared() {
    static thread_local DynamicShared shared;
    return shared.memory;
}

void run_with_memory(const void* kernel, dim3 grid, dim3 block, size_t bytes, Body thread) {
    const auto leave = allowed_bytes.find(kernel);
    if (bytes > (leave == allowed_bytes.end() ? WITHOUT_LEAVE : std::max(WITHOUT_LEAVE, leave->second))) {
        emulated_status = cudaErrorInvalidValue;
        return;
    }
    dynamic_bytes = bytes;
    run_in_clusters(grid, block, 1, thread);
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

static void settle_copies() {
    for (const EmulatedCopy& copy : arrived_copies) std::memcpy(copy.to, copy.bytes, COPIED_AT_ONCE);
    arrived_copies.clear();
}

void meet_and_settle() { meet_after(settle_copies); }

bool starts_on(const void* address, unsigned to) { return reinterpret_cast<uintptr_t>(address) % to == 0; }

void copy_async_16(void* to, const void* from, bool inside) {
    EmulatedCopy copy = {static_cast<unsigned char*>(to), {}};
    std::memset(to, 0xff, COPIED_AT_ONCE);
    if (!starts_on(to, COPIED_AT_ONCE) || !starts_on(from, COPIED_AT_ONCE)) return;
    if (inside) std::memcpy(copy.bytes, from, COPIED_AT_ONCE);
    copies_of_threads[threadIdx.x].open.push_back(copy);
}

void commit_copies() {
    CopiesOfThread& mine = copies_of_threads[threadIdx.x];
    mine.groups.push_back(std::move(mine.open));
    mine.open.clear();
}

void wait_for_all_copies_but(unsigned groups) {
    CopiesOfThread& mine = copies_of_threads[threadIdx.x];
    for (; mine.groups.size() > groups; mine.groups.pop_front()) {
        arrived_copies.insert(arrived_copies.end(), mine.groups.front().begin(), mine.groups.front().end());
    }
}

// ---- fragments

static thread_local const unsigned char* row_of_lane[MOST_WARPS][LANES_A_WARP];
static thread_local unsigned operands_of_lanes[MOST_WARPS][LANES_A_WARP][6];

static float half_of(unsigned word, unsigned high) { return __uint_as_float(high ? word & 0xffff0000u : word << 16); }

void drift_apart() {
    for (unsigned turns = (threadIdx.x / LANES_A_WARP + blockIdx.x) % 3; turns > 0; --turns) let_others_run();
}

static bool in_the_same_banks(const unsigned char* const* rows) {
    for (unsigned i = 0; i < 8; ++i) {
        for (unsigned j = 0; j < i; ++j) {
            const uintptr_t a = reinterpret_cast<uintptr_t>(rows[i]), b = reinterpret_cast<uintptr_t>(rows[j]);
            if (a != b && (a / COPIED_AT_ONCE - b / COPIED_AT_ONCE) % 8 == 0) return true;
        }
    }
    return false;
}

static void load_matrices(unsigned (&r)[4], const void* row, bool transposed) {
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

void ldmatrix_x4(unsigned (&r)[4], const void* row) { load_matrices(r, row, false); }
void ldmatrix_x4_trans(unsigned (&r)[4], const void* row) { load_matrices(r, row, true); }

// A's element of a row and a column, B's of a row (along k) and a column.
static float element_of_a(const unsigned (*lanes)[6], unsigned row, unsigned col) {
    return half_of(lanes[row % 8 * 4 + col % 8 / 2][row / 8 + 2 * (col / 8)], col % 2);
}
static float element_of_b(const unsigned (*lanes)[6], unsigned row, unsigned col) {
    return half_of(lanes[col * 4 + row % 8 / 2][4 + row / 8], row % 2);
}

void mma_m16n8k16(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
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
// ---- wmma

static thread_local float tiles[MOST_WARPS][3][wmma::SIDE * wmma::SIDE];

float (&wmma::tiles_of_warp())[3][SIDE * SIDE] { return tiles[threadIdx.x / LANES_A_WARP]; }

// Where the tile has a lane's element: a permutation that no kernel can have been written for.
unsigned wmma::place_of(unsigned i) {
    return ((threadIdx.x % LANES_A_WARP * EACH + i) * 77 + 41) % (SIDE * SIDE);
}

void wmma::multiply_tiles(float (&sums)[EACH]) {
    float (&all)[3][SIDE * SIDE] = tiles_of_warp();
    __syncwarp();
    for (unsigned i = 0; i < EACH; ++i) {
        const unsigned row = place_of(i) / SIDE, col = place_of(i) % SIDE;
        float sum = all[2][row * SIDE + col];
        for (unsigned k = 0; k < SIDE; ++k) sum += all[0][row * SIDE + k] * all[1][k * SIDE + col];
        sums[i] = sum;
    }
    __syncwarp();
}
