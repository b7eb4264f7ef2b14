// CUDA's atomics, barriers and fences, and those of kernels/cuda/atomics.cuh, with no more order than the PTX memory
// model gives them. Included after cuda_on_cpu.hpp, with WEAK_MEMORY defined; see weak_memory.cpp.

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <memory>
#include <thread>
#include <vector>

extern "C" {
void weak_watch(void* first, size_t bytes, const char* name);
void weak_begin(unsigned devices, unsigned of_device, uint64_t seed);
uint64_t weak_load(unsigned who, const void* at, bool acquires, bool system);
void weak_store(unsigned who, void* at, uint64_t value, bool releases, bool system);
uint64_t weak_change(unsigned who, void* at, unsigned size, unsigned kind, uint64_t value, uint64_t expected, bool releases);
void weak_fence(unsigned who, bool system);
void weak_arrive(unsigned who, uint64_t barrier);
void weak_leave(unsigned who, uint64_t barrier);
void weak_plain(unsigned who, void* at, unsigned size, bool writes);
}

#define UNSEEN __attribute__((no_sanitize("thread")))

static thread_local unsigned weak_device;

UNSEEN inline unsigned weak_block() { return weak_device * emulated::running->block->grid.x + emulated::running->block->index.x; }
UNSEEN inline unsigned weak_who() { return weak_block() * emulated::running->block->size.x + emulated::running->thread; }

#define HOOKS(size)                                                                                                   \
    extern "C" UNSEEN void __tsan_read##size(void* at) { if (emulated::running) weak_plain(weak_who(), at, size, false); } \
    extern "C" UNSEEN void __tsan_write##size(void* at) { if (emulated::running) weak_plain(weak_who(), at, size, true); } \
    extern "C" UNSEEN void __tsan_unaligned_read##size(void* at) { __tsan_read##size(at); }                           \
    extern "C" UNSEEN void __tsan_unaligned_write##size(void* at) { __tsan_write##size(at); }
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
extern "C" UNSEEN void __tsan_read_range(void* at, unsigned long size) {
    if (emulated::running) weak_plain(weak_who(), at, size, false);
}
extern "C" UNSEEN void __tsan_write_range(void* at, unsigned long size) {
    if (emulated::running) weak_plain(weak_who(), at, size, true);
}

// Barriers of one block by turns, so that who leaves one late does not see what came before the next.
UNSEEN inline int weak_meet(bool value) {
    uint64_t barrier = uint64_t(weak_block()) << 8 | (emulated::running->block->generation & 1);
    weak_arrive(weak_who(), barrier);
    int any = emulated::meet_block(value);
    weak_leave(weak_who(), barrier);
    return any;
}
inline void __syncthreads() { weak_meet(false); }
inline int __syncthreads_or(int value) { return weak_meet(value != 0); }
UNSEEN inline void __syncwarp(unsigned mask = ~0u) {
    uint64_t barrier = uint64_t(weak_block()) << 8 | (2 + emulated::running->thread / 32);
    weak_arrive(weak_who(), barrier);
    emulated::collect(mask, 0);
    weak_leave(weak_who(), barrier);
}

template <class T>
UNSEEN T weak_changed(unsigned kind, T* address, T value, T expected = 0, bool releases = false) {
    return T(weak_change(weak_who(), address, sizeof(T), kind, uint64_t(value), uint64_t(expected), releases));
}
template <class T, class V> T atomicAdd(T* address, V value) { return weak_changed(0, address, T(value)); }
template <class T, class V> T atomicOr(T* address, V value) { return weak_changed(1, address, T(value)); }
template <class T, class V> T atomicMin(T* address, V value) { return weak_changed(2, address, T(value)); }
template <class T, class V> T atomicMax(T* address, V value) { return weak_changed(3, address, T(value)); }
template <class T, class V> T atomicExch(T* address, V value) { return weak_changed(4, address, T(value)); }
template <class T, class V> T atomicXor(T* address, V value) { return weak_changed(6, address, T(value)); }
template <class T, class V, class W> T atomicCAS(T* address, V expected, W value) {
    return weak_changed(5, address, T(value), T(expected));
}

using Word = unsigned long long;
inline Word weak_loaded(const Word* address, bool acquires, bool system) {
    emulated::yield();
    return weak_load(weak_who(), address, acquires, system);
}
inline Word load_relaxed(const Word* address) { return weak_loaded(address, false, false); }
inline Word load_acquire(const Word* address) { return weak_loaded(address, true, false); }
inline Word load_relaxed_system(const Word* address) { return weak_loaded(address, false, true); }
inline void store_relaxed(Word* address, Word value) { weak_store(weak_who(), address, value, false, false); }
inline void store_release(Word* address, Word value) { weak_store(weak_who(), address, value, true, false); }
inline void store_relaxed_system(Word* address, Word value) { weak_store(weak_who(), address, value, false, true); }
inline Word increment_release(Word* address) { return weak_changed<Word>(0, address, 1, 0, true); }
inline void fence() { weak_fence(weak_who(), false); }
inline void fence_system() { weak_fence(weak_who(), true); }
inline Word increment_relaxed(Word* address) { return weak_changed<Word>(0, address, 1); }  // for mutants

// Run `body(device)` in every thread of some blocks of some devices.
template <class Body>
void weak_launch(unsigned devices, unsigned blocks, unsigned threads, uint64_t seed, Body body) {
    static Body* running;
    running = &body;
    weak_begin(devices, blocks * threads, seed);
    std::vector<std::thread> all;
    for (unsigned d = 0; d < devices; ++d)
        for (unsigned b = 0; b < blocks; ++b)
            all.emplace_back([=] {
                weak_device = d;
                emulated::run_block([](void**) { (*running)(weak_device); }, nullptr, b, blocks, threads);
                emulated::running = nullptr;
            });
    for (auto& block : all) block.join();
}
