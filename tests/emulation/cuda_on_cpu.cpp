// Runs the blocks of emulated kernels; cuda_on_cpu.hpp comes first.

#include <sched.h>
#include <time.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <thread>
#include <vector>

namespace emulated {

#ifdef WEAK_MEMORY
thread_local Fiber* running;
#endif

// Lanes that leave a turn late still read it while others give the next: the one after that waits for them.
struct Slot {
    unsigned arrived = 0, turn = 0;
    Turn turns[2] = {};
};

struct Warp {
    Slot whole;
    std::map<unsigned, Slot> parts;
};

constexpr unsigned SPINS = 16;

struct Running : Block {
    Body body;
    void** given;
    std::vector<Warp> warps;
    Jump scheduler;
};

static Running& block_of(Fiber& fiber) { return static_cast<Running&>(*fiber.block); }

struct Free {
    void operator()(char* memory) const { std::free(memory); }
};

// At a multiple of its size, where the fiber is noted that runs on it.
using Stack = std::unique_ptr<char, Free>;

// Stacks are kept: the system took longer to make them anew for every launch than most blocks run.
struct Stacks {
    std::atomic_flag taken = ATOMIC_FLAG_INIT;  // the header of mutexes has kernels, to those who look for names
    std::vector<Stack> kept;

    Stack take() {
        Stack stack;
        lock();
        if (!kept.empty()) {
            stack = std::move(kept.back());
            kept.pop_back();
        }
        taken.clear();
        return stack ? std::move(stack) : Stack(static_cast<char*>(std::aligned_alloc(STACK, STACK)));
    }
    void give(Stack stack) {
        lock();
        kept.push_back(std::move(stack));
        taken.clear();
    }
    void lock() {
        while (taken.test_and_set()) sched_yield();
    }
};

static Stacks stacks;

// The compiler's own jumps: those of the library, and swapped contexts above all, took most of a search's time.
// In a function of its own, without which the compiler takes it that nobody comes back to where it is called.
[[noreturn]] __attribute__((noinline)) inline void jump(Jump& there) { __builtin_longjmp(there, 1); }

__attribute__((noinline)) void yield() {
    Fiber* leaving = current();
    if (!__builtin_setjmp(leaving->left)) jump(block_of(*leaving).scheduler);
}

// Fibers that wait so are not even resumed, which took half of an emulated search's time.
inline void wait_while(const unsigned& value, unsigned was) {
    Fiber& waiting = *current();
    waiting.was = was;
    waiting.awaited = &value;
    yield();
    waiting.awaited = nullptr;
}

inline void enter() {
    Fiber& fiber = *current();
    block_of(fiber).body(block_of(fiber).given);
    fiber.ended = true;
    yield();
}

__attribute__((noinline)) inline void begin(Fiber& fiber) {
    ucontext_t context;
    fiber.begun = true;
    *reinterpret_cast<Fiber**>(fiber.stack) = &fiber;
    getcontext(&context);
    context.uc_stack.ss_sp = fiber.stack;
    context.uc_stack.ss_size = STACK;
    context.uc_link = nullptr;
    makecontext(&context, enter, 0);
    setcontext(&context);
}

__attribute__((noinline)) inline void resume(Fiber& fiber) {
#ifdef WEAK_MEMORY
    running = &fiber;
#endif
    if (__builtin_setjmp(block_of(fiber).scheduler)) return;
    if (fiber.begun) jump(fiber.left);
    begin(fiber);
}

const Turn& collect(unsigned mask, uint64_t value) {
    Fiber* fiber = current();
    Running& here = block_of(*fiber);
    const unsigned thread = fiber->thread, lane = thread % 32, bit = 1u << lane;
    const unsigned in_block = here.size.x - (thread - lane), whole = in_block < 32 ? (1u << in_block) - 1 : ~0u;
    mask &= whole;
    Warp& warp = here.warps[thread / 32];
    Slot& slot = mask == whole ? warp.whole : warp.parts[mask];
    const unsigned before = slot.turn;
    Turn& turn = slot.turns[before & 1];
    if (!slot.arrived) turn.nonzero = 0;
    turn.values[lane] = value;
    if (value) turn.nonzero |= bit;
    slot.arrived |= bit;
    if (slot.arrived == mask) {
        slot.arrived = 0;
        ++slot.turn;
    } else {
        wait_while(slot.turn, before);
    }
    return turn;
}

bool meet_block(bool value) {
    Block& here = *current()->block;
    unsigned before = here.generation;
    here.any |= value;
    if (++here.arrived == here.size.x) {
        here.arrived = 0;
        here.any_before = here.any;
        here.any = 0;
        ++here.generation;
    } else {
        wait_while(here.generation, before);
    }
    return here.any_before;
}

void run_block(Body kernel, void** arguments, unsigned index, unsigned blocks, unsigned threads) {
    Running block{{Dim{index}, Dim{threads}, Dim{blocks}}, kernel, arguments, std::vector<Warp>((threads + 31) / 32), {}};
    std::vector<Fiber> fibers(threads);
    for (unsigned t = 0; t < threads; ++t) {
        fibers[t].stack = stacks.take().release();
        fibers[t].block = &block;
        fibers[t].thread = t;
    }
    for (unsigned left = threads, spins = 0; left;) {
        unsigned resumed = 0;
        for (Fiber& fiber : fibers) {
            if (!fiber.is_ready()) continue;
            resume(fiber);
            left -= fiber.ended;
            ++resumed;
        }
        // One fiber alone spins until another block has come as far: the cores are for that one.
        spins = resumed > 1 ? 0 : spins + 1;
        if (spins > SPINS) std::this_thread::sleep_for(std::chrono::microseconds(20));
        else if (spins) sched_yield();
    }
    for (Fiber& fiber : fibers) stacks.give(Stack(fiber.stack));
}

struct Grid {
    std::vector<std::thread> blocks;

    Grid(Body kernel, void** arguments, unsigned first, unsigned last, unsigned of, unsigned threads) {
        for (unsigned b = first; b < last; ++b) blocks.emplace_back(run_block, kernel, arguments, b, of, threads);
    }
    ~Grid() {
        for (auto& block : blocks) block.join();
    }
};

void run_grid(Body kernel, void** arguments, unsigned blocks, unsigned threads, unsigned at_once) {
    for (unsigned first = 0; first < blocks; first += at_once)
        Grid(kernel, arguments, first, std::min(blocks, first + at_once), blocks, threads);
}

void* start_grid(Body kernel, void** arguments, unsigned blocks, unsigned threads) {
    return new Grid(kernel, arguments, 0, blocks, blocks, threads);
}

}  // namespace emulated

extern "C" void emulated_wait(void* started) { delete static_cast<emulated::Grid*>(started); }

unsigned long long nanoseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}
