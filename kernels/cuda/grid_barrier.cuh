// A barrier among all blocks of a cooperative launch, which guarantees that they run at the same time.
//
// `arrivals` only ever grows, so it is zeroed once, when it is allocated, and serves any number of launches
// that have the same number of blocks. What any block wrote before the barrier is seen by plain loads after it:
// each arrival releases, and the acquire reads from the last of them, whose additions continue all the others'.

#include "kernels/cuda/atomics.cuh"

__device__ __forceinline__ void grid_barrier(u64* arrivals) {
    __syncthreads();
    if (threadIdx.x == 0) {
        u64 ticket = increment_release(arrivals);
        u64 wanted = ticket - ticket % gridDim.x + gridDim.x;
        while (load_relaxed(arrivals) < wanted) {
        }
        load_acquire(arrivals);
    }
    __syncthreads();
}
