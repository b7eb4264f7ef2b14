// A barrier among all blocks of a cooperative launch, and among the devices that run such a launch each.
//
// The last block of a device to arrive tells the others by a flag in their memory (peer pointers), waits for
// theirs, and releases its own blocks. Every wait checks an abort flag and ends at a time limit; who gives
// up raises the flag on all devices. After that the kernel has to end, and its state is worth nothing.
//
// Its words only ever grow, so they serve any number of launches that have the same number of blocks. Blocks count their
// barriers themselves and keep addresses in shared memory, since a search of few levels is mostly barriers.

#include "kernels/cuda/grid_barrier.cuh"

constexpr u32 MAX_DEVICES = 16;
constexpr u32 SPINS_PER_CHECK = 64;  // of the clock and of the abort flag

// Of one device. `flags` and `abort` are written by other devices too.
struct Barrier {
    u64* arrivals;  // of all barriers
    u64* released;  // how many times all devices have synchronised; GONE where they did not
    u64* flags[MAX_DEVICES];  // of each device, a word for each device
    u64* abort[MAX_DEVICES];
    u64 devices, device;
    u64 limit;  // nanoseconds
};

__device__ __forceinline__ u64 nanoseconds() {
    u64 now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

__device__ __forceinline__ void give_up(const Barrier& m) {
    for (u32 d = 0; d < m.devices; ++d) store_relaxed_system(m.abort[d], 1);
}

constexpr u64 GONE = 1ull << 63;  // the search is given up

// How often a block has synchronised, in all launches: here, and with the other devices.
struct Passed {
    u64 here, everywhere;
};

__device__ __forceinline__ Passed& passed() {
    __shared__ Passed block;
    return block;
}

// A thread of each block calls it before a launch's first barrier. Nobody is past one to which this block has not come, so
// neither word grows by more than arrivals until then.
__device__ __forceinline__ void open_barrier(const Barrier& m) {
    passed() = {load_relaxed(m.arrivals) / gridDim.x, load_relaxed(m.released)};
}

// Wait until the word at `address`, which other devices write if FAR, has reached `wanted`, and give it; GONE where the
// search is given up.
template <bool FAR>
__device__ __forceinline__ u64 await(const Barrier& m, const u64* address, u64 wanted) {
    // The clock is read by who waits long alone.
    u64 since = 0;
    for (u32 spin = 1;; ++spin) {
        u64 word = FAR ? load_relaxed_system(address) : load_relaxed(address);
        if (word >= wanted) return word;
        if (spin % SPINS_PER_CHECK) continue;
        if (load_relaxed_system(m.abort[m.device])) return GONE;
        u64 now = nanoseconds();
        if (!since) since = now;
        if (now - since > m.limit) {
            give_up(m);
            return GONE;
        }
    }
}

// One thread of each device synchronises with those of the others, for the n-th time. The fences make releases and acquires of what
// is relaxed: one for all devices, where each release would wait for the writes anew.
__device__ __forceinline__ bool synchronise_devices(const Barrier& m, u64 epoch) {
    fence_system();
    for (u32 d = 0; d < m.devices; ++d)
        if (d != m.device) store_relaxed_system(m.flags[d] + m.device, epoch);
    bool all = true;
    for (u32 d = 0; d < m.devices && all; ++d) all = d == m.device || await<true>(m, m.flags[m.device] + d, epoch) != GONE;
    fence_system();
    return all;
}

// Synchronise; false where the search was given up. `everywhere` includes the other devices. What a block wrote is seen by
// other devices too, although only the last to arrive orders its writes for them: it has read the arrivals of the others,
// and its fence and flag come after (causality order of the PTX memory model is transitive over scopes).
__device__ __forceinline__ bool synchronise(const Barrier& m, bool everywhere) {
    __shared__ bool goes_on;
    __syncthreads();
    if (threadIdx.x == 0) {
        Passed& own = passed();
        u64 wanted = ++own.here * gridDim.x;
        bool far = everywhere && m.devices > 1, gone;
        // A release in the access itself: a fence beside it costs as much again.
        bool last = increment_release(m.arrivals) + 1 == wanted;
        if (far) {
            u64 epoch = ++own.everywhere;
            if (last) {
                gone = !synchronise_devices(m, epoch);
                store_relaxed(m.released, gone ? GONE : epoch);
            } else
                gone = await<false>(m, m.released, epoch) == GONE;
        } else
            gone = !last && await<false>(m, m.arrivals, wanted) == GONE;
        // What waits reads relaxed, since an acquire empties L1.
        load_acquire(far ? m.released : m.arrivals);
        goes_on = !gone;
    }
    __syncthreads();
    return goes_on;
}
