// What the probes share: how blocks come by tiles of rows, and how they add up what keeps their work alive.

#pragma once
#include "kernels/cuda/types.cuh"

// Calls `body(tile)` for every tile of a level. With `next` null the grid is as large as there are tiles
// (oversubscribed), else blocks take the next tile from that counter whenever they are done with one.
template <class Body>
__device__ __forceinline__ void each_tile(u64 tiles, u64* next, const Body& body) {
    __shared__ u64 taken;
    if (!next) {
        for (u64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) body(tile);
        return;
    }
    while (true) {
        if (threadIdx.x == 0) taken = atomicAdd(next, 1ull);
        __syncthreads();
        u64 tile = taken;
        __syncthreads();
        if (tile >= tiles) return;
        body(tile);
    }
}

// Adds what the block's threads hold to `sum`, once.
__device__ __forceinline__ void add_up(u64 value, u64* sum) {
    __shared__ u64 total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    u64 of_warp = warp_sum(value);
    if (lane_id() == 0) atomicAdd(&total, of_warp);
    __syncthreads();
    if (threadIdx.x == 0 && total) atomicAdd(sum, total);
}
