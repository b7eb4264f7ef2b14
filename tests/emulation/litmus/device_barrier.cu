// What a block of a device wrote before a barrier is read by all blocks of all devices after it: their mailboxes.

#include "kernels/partition/cuda/device_barrier.cuh"

extern "C" __global__ void litmus(const Barrier* barriers, u64* cells, u64* wrong, u64 device, u64 rounds) {
    const Barrier& m = barriers[device];
    u64 all = m.devices * global_threads(), mine = device * global_threads() + global_thread();
    if (threadIdx.x == 0) open_barrier(m);
    for (u64 round = 1; round <= rounds; ++round) {
        cells[mine] = round;
        if (!synchronise(m, false)) return;
        u64 near = device * global_threads() + (global_thread() + blockDim.x + 1) % global_threads();
        if (cells[near] != round) atomicAdd(wrong, 1ull);
        if (!synchronise(m, true)) return;
        u64 far = (mine + global_threads() + blockDim.x + 1) % all;
        if (cells[far] != round) atomicAdd(wrong, 1ull);
        if (!synchronise(m, true)) return;
    }
}
