// What a block wrote before a grid barrier is read by others after it, and nobody overwrites what is still read.

#include "kernels/cuda/grid_barrier.cuh"

extern "C" __global__ void litmus(u64* arrivals, u64* cells, u64* wrong, u64 rounds) {
    u64 other = (global_thread() + blockDim.x + 1) % global_threads();
    for (u64 round = 1; round <= rounds; ++round) {
        cells[global_thread()] = round;
        grid_barrier(arrivals);
        if (cells[other] != round) atomicAdd(wrong, 1ull);
        grid_barrier(arrivals);
    }
}
