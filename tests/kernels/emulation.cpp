// What runs the threads, blocks and clusters of emulation.h and emulation_warps.h.
#include "emulation_runtime.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <setjmp.h>
#include <ucontext.h>

__thread uint3 blockIdx, threadIdx;
dim3 gridDim, blockDim;
__thread double exchanged[LANES_A_WARP * LANES_A_WARP];

// ---- fibers: many threads of control in one thread of the host; each runs until it lets others run

constexpr unsigned STACK_BYTES = 1 << 16;

struct Fiber {
    jmp_buf here;
    bool done;
};

// Stacks are used again: a new one costs a page fault for every page that is touched.
class Stacks {
    std::vector<std::unique_ptr<char[]>> free;
    std::mutex mutex;

public:
    std::unique_ptr<char[]> take() {
        const std::lock_guard<std::mutex> lock(mutex);
        if (free.empty()) return std::unique_ptr<char[]>(new char[STACK_BYTES]);
        std::unique_ptr<char[]> stack = std::move(free.back());
        free.pop_back();
        return stack;
    }
    void put_back(std::unique_ptr<char[]> stack) {
        const std::lock_guard<std::mutex> lock(mutex);
        free.push_back(std::move(stack));
    }
};

static Stacks stacks;
static thread_local Fiber* running;
static thread_local jmp_buf scheduler;
static thread_local const Body* body_of_fibers;

// Not swapcontext, which asks the kernel for the signal mask each time.
[[gnu::noinline]] void switch_between(jmp_buf& from, jmp_buf& to) {
    if (!_setjmp(from)) _longjmp(to, 1);
}

void let_others_run() { switch_between(running->here, scheduler); }

void run_fiber() {
    (*body_of_fibers)();
    running->done = true;
    let_others_run();
}

[[gnu::noinline]] void begin(Fiber& fiber, char* stack) {
    ucontext_t started;
    getcontext(&started);
    started.uc_stack.ss_sp = stack;
    started.uc_stack.ss_size = STACK_BYTES;
    makecontext(&started, run_fiber, 0);
    if (!_setjmp(scheduler)) setcontext(&started);
}

inline void be_thread(unsigned i) {
    threadIdx = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
}

// Runs the threads of a block. `alone`: no other thread of the host is waited for.
void run_fibers(const Body& body, bool alone) {
    const unsigned count = blockDim.x * blockDim.y * blockDim.z;
    body_of_fibers = &body;
    std::vector<Fiber> fibers(count);
    std::vector<std::unique_ptr<char[]>> owned(count);
    for (unsigned i = 0, left = count; left > 0; i = (i + 1) % count) {
        running = &fibers[i];
        if (!running->done) {
            be_thread(i);
            if (owned[i]) {
                switch_between(scheduler, running->here);
            } else {
                owned[i] = stacks.take();
                begin(*running, owned[i].get());
            }
            left -= running->done;
        }
        if (i + 1 == count && !alone) std::this_thread::yield();
    }
    for (std::unique_ptr<char[]>& stack : owned) stacks.put_back(std::move(stack));
}

// ---- barriers

// The last of those expected opens it for all.
struct Door {
    std::atomic<unsigned> come{0}, opened{0};
    void arrive(unsigned expected, void (*before_it_opens)() = nullptr) {
        if (++come != expected) return;
        if (before_it_opens) before_it_opens();
        come = 0;
        ++opened;
    }
};

static thread_local Door block_door, warp_doors[LANES_A_WARP];

static void meet(Door& door, unsigned expected, void (*before_it_opens)()) {
    const unsigned before = door.opened;
    door.arrive(expected, before_it_opens);
    while (door.opened == before) let_others_run();
}

static unsigned threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }
void meet_after(void (*last)()) { meet(block_door, threads_of_block(), last); }
void __syncthreads() { meet_after(nullptr); }
void __syncwarp() {
    const unsigned warp = (threadIdx.y * blockDim.x + threadIdx.x) / LANES_A_WARP;
    meet(warp_doors[warp], std::min(LANES_A_WARP, threads_of_block() - LANES_A_WARP * warp), nullptr);
}

// ---- blocks

static uint3 block_at(unsigned i) { return {i % gridDim.x, i / gridDim.x % gridDim.y, i / gridDim.x / gridDim.y}; }
static unsigned blocks_of_grid() { return gridDim.x * gridDim.y * gridDim.z; }

void run_one_after_the_other(dim3 grid, dim3 block, bool meet, Body thread) {
    gridDim = grid;
    blockDim = block;
    for (unsigned i = 0; i < blocks_of_grid(); ++i) {
        blockIdx = block_at(i);
        if (meet) run_fibers(thread, true);
        else for (unsigned j = 0; j < threads_of_block(); ++j) be_thread(j), thread();
    }
}

// ---- clusters

struct Write {
    void* to;
    unsigned size;
    unsigned char bytes[MOST_WRITTEN];
    void operator()() const { std::memcpy(to, bytes, size); }
};

struct Cluster {
    explicit Cluster(unsigned size) : size(size), anchors(size), ended(size), sent(size) {}
    unsigned size;
    Door door, end;
    std::vector<char*> anchors;
    std::vector<std::atomic<bool>> ended;
    std::mutex mutex;
    std::vector<Write> writes;  // to be seen once all have arrived, and no sooner
    std::vector<std::vector<Write>> sent;  // to each block
    void settle() {
        for (const Write& write : writes) write();
        writes.clear();
    }
};

static thread_local Cluster* cluster;
static thread_local unsigned* met_in_cluster;  // by thread
static thread_local char anchor;  // thread-local statics lie at the same distance from it in every thread

int rank_in_cluster() { return blockIdx.x % cluster->size; }
void arrive_in_cluster() {
    cluster->door.arrive(cluster->size * blockDim.x, [] { cluster->settle(); });
}
void await_cluster() {
    while (cluster->door.opened == met_in_cluster[threadIdx.x]) let_others_run();
    ++met_in_cluster[threadIdx.x];
}

// Null where a real one would break: the block may not have started, or has ended.
static void* place_in(int rank, void* here) {
    if (met_in_cluster[threadIdx.x] == 0 || cluster->ended[rank]) return nullptr;
    return cluster->anchors[rank] + (static_cast<char*>(here) - &anchor);
}

static Write written(void* to, const void* value, unsigned size) {
    Write write{to, size, {}};
    std::memcpy(write.bytes, value, size);
    return write;
}

void write_bytes_to(int rank, void* here, const void* value, unsigned size) {
    void* const there = place_in(rank, here);
    if (!there) {
        std::memset(here, 0xff, size);
        return;
    }
    const std::lock_guard<std::mutex> lock(cluster->mutex);
    cluster->writes.push_back(written(there, value, size));
}

void send_bytes_to(int rank, void* here, const void* value, unsigned size, Arrivals& arrivals) {
    Arrivals* const its = static_cast<Arrivals*>(place_in(rank, &arrivals));
    if (!its) {
        arrivals.bytes = 0;
        std::memset(here, 0xff, size);
        return;
    }
    const std::lock_guard<std::mutex> lock(cluster->mutex);
    std::vector<Write>& sent = cluster->sent[rank];
    sent.push_back(written(place_in(rank, here), value, size));
    its->bytes -= size;
    if (its->bytes) return;
    for (const Write& write : sent) write();
    sent.clear();
}

void await_bytes(const Arrivals& arrivals) {
    const auto left = [&] {
        const std::lock_guard<std::mutex> lock(cluster->mutex);
        return arrivals.bytes;
    };
    while (left()) let_others_run();
}

static void run_block(Cluster* mine, uint3 block, const Body* thread) {
    cluster = mine;
    blockIdx = block;
    mine->anchors[rank_in_cluster()] = &anchor;
    std::vector<unsigned> met(blockDim.x);
    met_in_cluster = met.data();
    run_fibers(*thread, mine->size == 1);
    mine->ended[rank_in_cluster()] = true;
    mine->end.arrive(mine->size);
    while (mine->end.opened == 0) std::this_thread::yield();  // its memory may still be written to
}

void run_in_clusters(dim3 grid, dim3 block, unsigned cluster_size, Body thread) {
    gridDim = grid;
    blockDim = block;
    for (unsigned i = 0; i < blocks_of_grid(); i += cluster_size) {
        Cluster one(cluster_size);
        std::vector<std::thread> blocks;
        for (unsigned j = 0; j < cluster_size; ++j) blocks.emplace_back(run_block, &one, block_at(i + j), &thread);
        for (std::thread& block : blocks) block.join();
    }
}
