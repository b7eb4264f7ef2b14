// A search's labels, taken out of its workspace, and its vertices counted by their distance.
//
// Contract. take: labels i32, that of vertex v at v * stride, since those of a search are halves of its keys;
// taken i32 (vertices). count_levels: distance i32 (vertices), -1 for unreached; counts u64 (room + 1), zeroed,
// room at least NEAR: vertices at each distance below room, and behind them the levels that there are. Any block.

#include "kernels/cuda/types.cuh"

constexpr u32 NEAR = 1024;

extern "C" __global__ void take(const i32* labels, i64 stride, u64 vertices, i32* taken) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) taken[v] = labels[i64(v) * stride];
}

extern "C" __global__ void count_levels(const i32* distance, u64 vertices, u64 room, u64* counts) {
    __shared__ u32 near[NEAR];
    __shared__ u32 levels;
    for (u32 i = threadIdx.x; i < NEAR; i += blockDim.x) near[i] = 0;
    if (threadIdx.x == 0) levels = 0;
    __syncthreads();
    u32 most = 0;
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        i32 level = distance[v];
        if (level < 0) continue;
        if (u32(level) >= most) most = u32(level) + 1;
        if (u32(level) < NEAR)
            atomicAdd(&near[level], 1u);
        else if (u64(level) < room)
            atomicAdd(&counts[level], 1ull);
    }
    atomicMax(&levels, most);
    __syncthreads();
    for (u32 i = threadIdx.x; i < NEAR; i += blockDim.x)
        if (near[i]) atomicAdd(&counts[i], u64(near[i]));
    if (threadIdx.x == 0) atomicMax(&counts[room], u64(levels));
}
