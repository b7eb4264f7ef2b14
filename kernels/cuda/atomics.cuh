// Words that blocks, devices or the host tell each other by, with the order and the scope that each access has.
//
// NVRTC has no libcu++, so these are the PTX that cuda::atomic_ref would be. Without a suffix the scope is the device's;
// `_system` is for words of other devices. docs/memory-model.md says who publishes what by which of these, and why that
// is enough. atomicAdd and its like are relaxed, of the device's scope.

#include "kernels/cuda/types.cuh"

// For words that say all there is to know, and for waiting: an acquire empties L1 each time.
__device__ __forceinline__ u64 load_relaxed(const u64* address) {
    u64 value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    return value;
}

__device__ __forceinline__ void store_relaxed(u64* address, u64 value) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

__device__ __forceinline__ u64 load_acquire(const u64* address) {
    u64 value;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    return value;
}

__device__ __forceinline__ void store_release(u64* address, u64 value) {
    asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

// Adds 1 and returns what was there.
__device__ __forceinline__ u64 increment_release(u64* address) {
    u64 before;
    asm volatile("atom.add.release.gpu.global.u64 %0, [%1], 1;" : "=l"(before) : "l"(address) : "memory");
    return before;
}

// Makes an acquire of the relaxed loads before it, and a release of the relaxed stores behind it. __threadfence is
// sequentially consistent, which nothing here needs, and dearer.
__device__ __forceinline__ void fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

__device__ __forceinline__ u64 load_relaxed_system(const u64* address) {
    u64 value;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    return value;
}

__device__ __forceinline__ void store_relaxed_system(u64* address, u64 value) {
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

__device__ __forceinline__ void fence_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
