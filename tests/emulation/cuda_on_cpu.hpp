// Enough of CUDA to run a kernel of gravel on CPU threads: a block is a thread of the system, and each of its
// CUDA threads a fiber of that. Whatever waits lets other fibers go on, so warps may diverge as they like.
// Grids of several devices run at the same time in one address space, as peers do.

// What runs the fibers is in cuda_on_cpu.cpp, which is compiled once: a kernel compiles faster without it.

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <initializer_list>

#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __shared__ static thread_local
#define __launch_bounds__(...)

template <class T>
const T& max(const T& a, const T& b) {
    return a < b ? b : a;
}
template <class T>
const T& min(const T& a, const T& b) {
    return b < a ? b : a;
}

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

constexpr size_t STACK = 128 << 10;

using Jump = void*[5];

struct Block;

struct Fiber {
    char* stack;
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
    unsigned arrived = 0, generation = 0, any = 0, any_before = 0;
};

#ifdef WEAK_MEMORY  // which asks outside of fibers too
extern thread_local Fiber* running;
inline Fiber* current() { return running; }
#else
// By the stack: to find a thread's variable of a library takes a call, and took a quarter of a search's time.
inline Fiber* current() {
    return *reinterpret_cast<Fiber**>(uintptr_t(__builtin_frame_address(0)) & ~uintptr_t(STACK - 1));
}
#endif

void yield();
inline unsigned lane() { return current()->thread % 32; }

// Every lane of `mask` gives a value and gets all of them.
const Turn& collect(unsigned mask, uint64_t value);
bool meet_block(bool value);

// Run one block on this thread.
void run_block(Body kernel, void** arguments, unsigned index, unsigned blocks, unsigned threads);
// Run all blocks, so many at once.
void run_grid(Body kernel, void** arguments, unsigned blocks, unsigned threads, unsigned at_once);
// Start all blocks; what is returned is for `emulated_wait`.
void* start_grid(Body kernel, void** arguments, unsigned blocks, unsigned threads);

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
        if (mask >> i & 1) most = max(most, unsigned(all[i]));
    return most;
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned value) {
    const uint64_t* all = emulated::collect(mask, value).values;
    unsigned least = ~0u;
    for (int i = 0; i < 32; ++i)
        if (mask >> i & 1) least = min(least, unsigned(all[i]));
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
// Each is rounded once: nothing here is compiled for fused operations.
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __longlong_as_double(long long bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
inline long long __double_as_longlong(double value) {
    long long bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
inline float __uint_as_float(unsigned bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
inline unsigned __float_as_uint(float value) {
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
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

unsigned long long nanoseconds();
