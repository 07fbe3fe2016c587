// Fibers: many threads of control in one thread of the host. Each runs until it lets others run.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <setjmp.h>
#include <ucontext.h>

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
static thread_local const std::function<void()>* body_of_fibers;

// Not swapcontext, which asks the kernel for the signal mask each time.
[[gnu::noinline]] inline void switch_between(jmp_buf& from, jmp_buf& to) {
    if (!_setjmp(from)) _longjmp(to, 1);
}

inline void let_others_run() { switch_between(running->here, scheduler); }

inline void run_fiber() {
    (*body_of_fibers)();
    running->done = true;
    let_others_run();
}

[[gnu::noinline]] inline void begin(Fiber& fiber, char* stack) {
    ucontext_t started;
    getcontext(&started);
    started.uc_stack.ss_sp = stack;
    started.uc_stack.ss_size = STACK_BYTES;
    makecontext(&started, run_fiber, 0);
    if (!_setjmp(scheduler)) setcontext(&started);
}

// Calls body in each of count fibers; before a fiber goes on, resumed is told which.
template <typename Resumed>
void run_fibers(unsigned count, Resumed resumed, const std::function<void()>& body) {
    body_of_fibers = &body;
    std::vector<Fiber> fibers(count);
    std::vector<std::unique_ptr<char[]>> owned(count);
    for (unsigned i = 0, left = count; left > 0; i = (i + 1) % count) {
        running = &fibers[i];
        if (!running->done) {
            resumed(i);
            if (owned[i]) {
                switch_between(scheduler, running->here);
            } else {
                owned[i] = stacks.take();
                begin(*running, owned[i].get());
            }
            left -= running->done;
        }
        if (i + 1 == count) std::this_thread::yield();  // other blocks of a cluster
    }
    for (std::unique_ptr<char[]>& stack : owned) stacks.put_back(std::move(stack));
}
