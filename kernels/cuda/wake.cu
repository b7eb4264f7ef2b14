// Keeps every multiprocessor busy for a while: a GPU that has been idle for some milliseconds lowers its
// clocks, and a short kernel that comes next would be timed at these.

#include "kernels/cuda/types.cuh"

extern "C" __global__ void wake(u64 nanoseconds) {
    u64 start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - start < nanoseconds);
}
