// A barrier among all blocks of a cooperative launch, which guarantees that they run at the same time.
//
// `arrivals` only ever grows, so it is zeroed once, when it is allocated, and serves any number of launches
// that have the same number of blocks. The fences make what any block wrote before the barrier visible to
// plain loads after it: the second one empties this multiprocessor's L1.

#include "kernels/cuda/types.cuh"

__device__ __forceinline__ u64 load_relaxed(const u64* address) {
    u64 value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    return value;
}

__device__ __forceinline__ void store_relaxed(u64* address, u64 value) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

__device__ __forceinline__ void grid_barrier(u64* arrivals) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        u64 ticket = atomicAdd(arrivals, 1ull);
        u64 wanted = ticket - ticket % gridDim.x + gridDim.x;
        while (load_relaxed(arrivals) < wanted) {
        }
        __threadfence();
    }
    __syncthreads();
}
