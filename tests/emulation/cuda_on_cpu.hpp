// Enough of CUDA to run a kernel of gravel on CPU threads: a block is a thread of the system, and each of its
// CUDA threads a fiber of that. Whatever waits lets other fibers go on, so warps may diverge as they like.
// Grids of several devices run at the same time in one address space, as peers do.

#include <sched.h>
#include <time.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __shared__ static thread_local
#define __launch_bounds__(...)

struct alignas(8) uint2 {
    unsigned x, y;
};

inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

struct Dim {
    unsigned x = 1, y = 1, z = 1;
};

namespace emulated {

// What the lanes of a mask gave, and which gave something else than zero; zero for other lanes.
struct Turn {
    unsigned nonzero;
    uint64_t values[32];
};

// Lanes that leave a turn late still read it while others give the next: the one after that waits for them.
struct Slot {
    unsigned arrived = 0, turn = 0;
    Turn turns[2] = {};
};

struct Warp {
    Slot whole;
    std::map<unsigned, Slot> parts;
};

constexpr size_t STACK = 128 << 10;
constexpr unsigned SPINS = 16;

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

using Jump = void*[5];

struct Block;

struct Fiber {
    Stack stack;
    Block* block;
    unsigned thread;
    Jump left;  // where it gave way
    bool begun = false, ended = false;
    // Unless null, it goes on when this is no longer what it was.
    const unsigned* awaited = nullptr;
    unsigned was;

    bool is_ready() const { return !ended && (!awaited || *awaited != was); }
};

using Body = void (*)(void** arguments);

struct Block {
    Dim index, size, grid;
    Body body;
    void** given;
    std::vector<Warp> warps;
    Jump scheduler;
    unsigned arrived = 0, generation = 0, any = 0, any_before = 0;
};

#ifdef WEAK_MEMORY  // which asks outside of fibers too
static thread_local Fiber* running;
inline Fiber* current() { return running; }
#else
// By the stack: to find a thread's variable of a library takes a call, and took a quarter of a search's time.
inline Fiber* current() {
    return *reinterpret_cast<Fiber**>(uintptr_t(__builtin_frame_address(0)) & ~uintptr_t(STACK - 1));
}
#endif

// The compiler's own jumps: those of the library, and swapped contexts above all, took most of a search's time.
// In a function of its own, without which the compiler takes it that nobody comes back to where it is called.
[[noreturn]] __attribute__((noinline)) inline void jump(Jump& there) { __builtin_longjmp(there, 1); }

__attribute__((noinline)) inline void yield() {
    Fiber* leaving = current();
    if (!__builtin_setjmp(leaving->left)) jump(leaving->block->scheduler);
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
    fiber.block->body(fiber.block->given);
    fiber.ended = true;
    yield();
}

__attribute__((noinline)) inline void begin(Fiber& fiber) {
    ucontext_t context;
    fiber.begun = true;
    *reinterpret_cast<Fiber**>(fiber.stack.get()) = &fiber;
    getcontext(&context);
    context.uc_stack.ss_sp = fiber.stack.get();
    context.uc_stack.ss_size = STACK;
    context.uc_link = nullptr;
    makecontext(&context, enter, 0);
    setcontext(&context);
}

__attribute__((noinline)) inline void resume(Fiber& fiber) {
#ifdef WEAK_MEMORY
    running = &fiber;
#endif
    if (__builtin_setjmp(fiber.block->scheduler)) return;
    if (fiber.begun) jump(fiber.left);
    begin(fiber);
}

inline unsigned lane() { return current()->thread % 32; }

// Every lane of `mask` gives a value and gets all of them.
inline const Turn& collect(unsigned mask, uint64_t value) {
    Fiber* fiber = current();
    Block& here = *fiber->block;
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

inline bool meet_block(bool value) {
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

template <class T>
uint64_t to_bits(T value) {
    uint64_t bits = 0;
    static_assert(sizeof(T) <= 8);
    __builtin_memcpy(&bits, &value, sizeof(T));
    return bits;
}

template <class T>
T from_bits(uint64_t bits) {
    T value;
    __builtin_memcpy(&value, &bits, sizeof(T));
    return value;
}

}  // namespace emulated

#define threadIdx (Dim{emulated::current()->thread, 0, 0})
#define blockIdx (emulated::current()->block->index)
#define blockDim (emulated::current()->block->size)
#define gridDim (emulated::current()->block->grid)

#ifndef WEAK_MEMORY  // litmus/weak_memory.hpp has its own
inline void __syncthreads() { emulated::meet_block(false); }
inline int __syncthreads_or(int value) { return emulated::meet_block(value != 0); }
inline void __syncwarp(unsigned mask = ~0u) { emulated::collect(mask, 0); }
#endif

template <class T>
T __shfl_sync(unsigned mask, T value, unsigned from) {
    return emulated::from_bits<T>(emulated::collect(mask, emulated::to_bits(value)).values[from % 32]);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned step) {
    unsigned lane = emulated::lane(), from = lane >= step ? lane - step : lane;
    return emulated::from_bits<T>(emulated::collect(mask, emulated::to_bits(value)).values[from]);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, unsigned step) {
    return emulated::from_bits<T>(emulated::collect(mask, emulated::to_bits(value)).values[emulated::lane() ^ step]);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned step) {
    unsigned lane = emulated::lane(), from = lane + step < 32 ? lane + step : lane;
    return emulated::from_bits<T>(emulated::collect(mask, emulated::to_bits(value)).values[from]);
}
inline unsigned __ballot_sync(unsigned mask, bool value) {
    return emulated::collect(mask, value).nonzero;
}
inline bool __any_sync(unsigned mask, bool value) { return __ballot_sync(mask, value) != 0; }
inline bool __all_sync(unsigned mask, bool value) { return __ballot_sync(mask, !value) == 0; }
inline unsigned permute_bytes(unsigned a, unsigned b, unsigned selector) {
    unsigned bytes = 0;
    for (int i = 0; i < 4; ++i) {
        unsigned digit = selector >> 4 * i & 15, from = digit & 7;
        unsigned byte = (from < 4 ? a >> 8 * from : b >> 8 * (from - 4)) & 255u;
        bytes |= (digit < 8 ? byte : byte & 128u ? 255u : 0u) << 8 * i;
    }
    return bytes;
}
inline float __fdividef(float a, float b) { return a / b; }
inline unsigned __reduce_add_sync(unsigned mask, unsigned value) {
    const uint64_t* all = emulated::collect(mask, value).values;
    unsigned sum = 0;
    for (int i = 0; i < 32; ++i)
        if (mask >> i & 1) sum += unsigned(all[i]);
    return sum;
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value) {
    const uint64_t* all = emulated::collect(mask, value).values;
    unsigned bits = 0;
    for (int i = 0; i < 32; ++i)
        if (mask >> i & 1) bits |= unsigned(all[i]);
    return bits;
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned value) {
    const uint64_t* all = emulated::collect(mask, value).values;
    unsigned most = 0;
    for (int i = 0; i < 32; ++i)
        if (mask >> i & 1) most = std::max(most, unsigned(all[i]));
    return most;
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned value) {
    const uint64_t* all = emulated::collect(mask, value).values;
    unsigned least = ~0u;
    for (int i = 0; i < 32; ++i)
        if (mask >> i & 1) least = std::min(least, unsigned(all[i]));
    return least;
}
inline void prefetch(const void*) {}
inline void __nanosleep(unsigned) { emulated::yield(); }
template <class T>
unsigned __match_any_sync(unsigned mask, T value) {
    const uint64_t* all = emulated::collect(mask, emulated::to_bits(value)).values;
    unsigned bits = 0;
    for (int i = 0; i < 32; ++i)
        if (mask >> i & 1 && all[i] == emulated::to_bits(value)) bits |= 1u << i;
    return bits;
}

// Lanes come as they like, so each is alone.
inline unsigned __activemask() { return 1u << emulated::lane(); }

inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
    for (int shift = 0; shift < 32; shift += 8) sum += (a >> shift & 255) * (b >> shift & 255);
    return sum;
}
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline int __ffsll(long long bits) { return __builtin_ffsll(bits); }
inline int __clz(int bits) { return bits ? __builtin_clz(bits) : 32; }
inline int __clzll(long long bits) { return bits ? __builtin_clzll(bits) : 64; }
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return unsigned((uint64_t(high) << 32 | low) >> (shift & 31));
}
template <class T>
T __ldcs(const T* address) {
    return *address;
}

template <class T>
T __ldcv(const T* address) {
    return __atomic_load_n(address, __ATOMIC_RELAXED);
}
template <class T>
T __ldg(const T* address) {
    return *address;
}
template <class T>
T __ldca(const T* address) {
    return __ldcv(address);
}
// The lanes of a warp read at once: none writes before all have read.
template <class T>
T __ldcg(const T* address) {
    T value = __ldcv(address);
    emulated::yield();
    return value;
}
using std::max;
using std::min;
// Each is rounded once: nothing here is compiled for fused operations.
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __longlong_as_double(long long bits) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
inline long long __double_as_longlong(double value) {
    long long bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
inline float __uint_as_float(unsigned bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
inline unsigned __float_as_uint(float value) {
    unsigned bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsub_rn(double a, double b) { return a - b; }
#define __builtin_assume(condition)
#ifndef WEAK_MEMORY
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

template <class T, class V>
T atomicExch(T* address, V value) {
    return __atomic_exchange_n(address, T(value), __ATOMIC_SEQ_CST);
}

template <class T, class V>
T atomicAdd(T* address, V value) {
    return __atomic_fetch_add(address, T(value), __ATOMIC_SEQ_CST);
}
template <class T, class V>
T atomicOr(T* address, V value) {
    return __atomic_fetch_or(address, T(value), __ATOMIC_SEQ_CST);
}
template <class T, class V>
T atomicXor(T* address, V value) {
    return __atomic_fetch_xor(address, T(value), __ATOMIC_SEQ_CST);
}
template <class T, class V>
T atomicMin(T* address, V value) {
    T seen = __atomic_load_n(address, __ATOMIC_SEQ_CST);
    while (T(value) < seen && !__atomic_compare_exchange_n(address, &seen, T(value), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return seen;
}

template <class T, class V>
T atomicMax(T* address, V value) {
    T seen = __atomic_load_n(address, __ATOMIC_SEQ_CST);
    while (T(value) > seen && !__atomic_compare_exchange_n(address, &seen, T(value), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return seen;
}
// Others go on before it, since kernels look at what they swap.
template <class T, class V, class W>
T atomicCAS(T* address, V expected, W value) {
    emulated::yield();
    T seen = T(expected);
    __atomic_compare_exchange_n(address, &seen, T(value), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return seen;
}
// What the kernels write in assembly, with a chance for others to go on: it is what loops spin on.
inline unsigned long long load_relaxed(const unsigned long long* address) {
    emulated::yield();
    return __atomic_load_n(address, __ATOMIC_RELAXED);
}
inline unsigned long long load_acquire(const unsigned long long* address) {
    emulated::yield();
    return __atomic_load_n(address, __ATOMIC_ACQUIRE);
}
inline void store_relaxed(unsigned long long* address, unsigned long long value) {
    __atomic_store_n(address, value, __ATOMIC_RELAXED);
}
inline void store_release(unsigned long long* address, unsigned long long value) {
    __atomic_store_n(address, value, __ATOMIC_RELEASE);
}
inline unsigned long long increment_release(unsigned long long* address) {
    return __atomic_fetch_add(address, 1, __ATOMIC_RELEASE);
}
inline void fence() { __atomic_thread_fence(__ATOMIC_ACQ_REL); }
// All emulated devices are of one system.
inline unsigned long long load_relaxed_system(const unsigned long long* address) { return load_relaxed(address); }
inline void store_relaxed_system(unsigned long long* address, unsigned long long value) { store_relaxed(address, value); }
inline void fence_system() { fence(); }
#endif
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline long long clock64() { return 1; }

inline unsigned long long nanoseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

namespace emulated {

inline void run_block(Body kernel, void** arguments, unsigned index, unsigned blocks, unsigned threads) {
    Block block{Dim{index}, Dim{threads}, Dim{blocks}, kernel, arguments, std::vector<Warp>((threads + 31) / 32), {}};
    std::vector<Fiber> fibers(threads);
    for (unsigned t = 0; t < threads; ++t) {
        fibers[t].stack = stacks.take();
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
    for (Fiber& fiber : fibers) stacks.give(std::move(fiber.stack));
}

struct Grid {
    std::vector<std::thread> blocks;
};

}  // namespace emulated
