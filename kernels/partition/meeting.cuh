// A barrier among all blocks of a cooperative launch, and among the devices that run such a launch each.
//
// The last block of a device to arrive tells the others by a flag in their memory (peer pointers), waits for
// theirs, and releases its own blocks. Every wait looks at an abort flag and ends at a time limit; who gives
// up raises the flag on all devices. After that the kernel has to end, and its state is worth nothing.

#include "kernels/cuda/grid_barrier.cuh"

constexpr u32 MOST_DEVICES = 16;
constexpr u32 SPINS_PER_LOOK = 64;  // at the clock and at the abort flag

// Of one device. `flags` and `abort` are written by other devices too.
struct Meeting {
    u64* arrivals;
    u64* released;
    u64* epoch;
    u64* flags[MOST_DEVICES];  // of each device, a word for each device
    u64* abort[MOST_DEVICES];
    u64 devices, device;
    u64 limit;  // nanoseconds
};

__device__ __forceinline__ u64 load_system(const u64* address) {
    u64 value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    return value;
}

__device__ __forceinline__ void store_system(u64* address, u64 value) {
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

__device__ __forceinline__ u64 nanoseconds() {
    u64 now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

__device__ __forceinline__ void give_up(const Meeting& m) {
    for (u32 d = 0; d < m.devices; ++d) store_system(m.abort[d], 1);
}

// Wait until the word at `address` has reached `wanted`.
__device__ __forceinline__ void await(const Meeting& m, const u64* address, u64 wanted, u64 since) {
    for (u32 spin = 1; load_system(address) < wanted; ++spin) {
        if (spin % SPINS_PER_LOOK) continue;
        if (load_system(m.abort[m.device])) return;
        if (nanoseconds() - since > m.limit) {
            give_up(m);
            return;
        }
    }
}

// One thread of each device meets those of the others.
__device__ __forceinline__ void meet_devices(const Meeting& m, u64 since) {
    __threadfence_system();
    u64 epoch = load_relaxed(m.epoch) + 1;
    store_relaxed(m.epoch, epoch);
    for (u32 d = 0; d < m.devices; ++d)
        if (d != m.device) store_system(m.flags[d] + m.device, epoch);
    for (u32 d = 0; d < m.devices; ++d)
        if (d != m.device) await(m, m.flags[m.device] + d, epoch, since);
}

// Meet; false where the search was given up. `everywhere` includes the other devices. What a block wrote is seen by
// other devices too, although only the last to arrive orders its writes for them: it has seen those of the others, and
// its fence and flag come after (causality order of the PTX memory model is transitive over scopes).
__device__ __forceinline__ bool meet(const Meeting& m, bool everywhere) {
    __shared__ bool goes_on;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        u64 ticket = atomicAdd(m.arrivals, 1ull), round = ticket / gridDim.x + 1, since = nanoseconds();
        if (ticket % gridDim.x == gridDim.x - 1) {
            if (everywhere && m.devices > 1) meet_devices(m, since);
            __threadfence();
            store_relaxed(m.released, round);
        } else {
            for (u32 spin = 1; load_relaxed(m.released) < round; ++spin) {
                if (spin % SPINS_PER_LOOK) continue;
                if (load_system(m.abort[m.device])) break;
                if (nanoseconds() - since > m.limit) {
                    give_up(m);
                    break;
                }
            }
        }
        __threadfence();
        goes_on = !load_relaxed(m.abort[m.device]);
    }
    __syncthreads();
    return goes_on;
}
