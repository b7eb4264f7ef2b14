// What a search reached, level by level, and the ends of edges of each vertex; the CPU twin is
// kernels/level_statistics.py.
//
// Contract: rows are `row_offsets` i64 (rows + 1) and `columns` VERTEX, each row ascending, the first of them row
// `first_row` of its graph. `ends` i64 (rows) counts the distinct neighbours of each row, a self-loop twice. Distances
// are i32, that of vertex v at v * stride, -1 for what was not reached. `vertices` and `arcs` u64 (room) and `totals`
// u64 (2) start at 0; room is at least NEAR. They get the vertices and stored arcs of the levels below room (arcs of vertex
// v: `degrees` u32), the sum of `extra_ends` i32 (vertices) over what was reached, and the number of levels. `degrees`
// and `extra_ends` may be null. Any block of whole warps.
//
// variants VERTEX: u32 u64

#include "kernels/cuda/types.cuh"

// A warp per row.
extern "C" __global__ void edge_ends(const i64* row_offsets, const VERTEX* columns, u64 rows, u64 first_row, i64* ends) {
    for (u64 v = global_thread() / WARP; v < rows; v += global_threads() / WARP) {
        i64 begin = row_offsets[v], end = row_offsets[v + 1];
        u64 found = 0;
        for (i64 arc = begin + lane_id(); arc < end; arc += WARP)
            if (arc == begin || columns[arc] != columns[arc - 1]) found += u64(columns[arc]) == first_row + v ? 2 : 1;
        found = warp_sum(found);
        if (lane_id() == 0) ends[v] = i64(found);
    }
}

constexpr u32 NEAR = 1024;  // levels that a block keeps in 16 KiB, which leaves a processor all its warps

// A warp adds up what its lanes have of each level that occurs among them, which are few in a shallow search: lanes
// that add to the same place one by one would wait for each other. Levels from NEAR on are those of deep searches,
// whose vertices are spread over many.
extern "C" __global__ void level_sums(const i32* distance, i64 stride, const u32* degrees, const i32* extra_ends, u64 count,
                                      u64 room, u64* vertices, u64* arcs, u64* totals) {
    __shared__ u64 near_vertices[NEAR], near_arcs[NEAR];
    __shared__ u32 levels;
    for (u32 level = threadIdx.x; level < NEAR; level += blockDim.x) near_vertices[level] = near_arcs[level] = 0;
    if (threadIdx.x == 0) levels = 0;
    __syncthreads();
    u64 total = 0, whole = (count + WARP - 1) / WARP * WARP;
    u32 most = 0;
    for (u64 v = global_thread(); v < whole; v += global_threads()) {
        i32 level = v < count ? distance[i64(v) * stride] : -1;
        u64 degree = level < 0 || !degrees ? 0 : u64(degrees[v]);
        if (level >= 0 && extra_ends) total += u64(i64(extra_ends[v]));
        if (level >= 0 && u32(level) >= most) most = u32(level) + 1;
        u32 left = __ballot_sync(ALL_LANES, level >= 0);
        while (left) {
            i32 first = __shfl_sync(ALL_LANES, level, __ffs(left) - 1);
            bool same = level == first;
            u32 lanes = __ballot_sync(ALL_LANES, same);
            u64 sum = warp_sum(same ? degree : u64(0));
            if (lane_id() == 0 && u64(first) < room) {
                bool near = u32(first) < NEAR;
                atomicAdd(near ? &near_vertices[first] : &vertices[first], u64(__popc(lanes)));
                atomicAdd(near ? &near_arcs[first] : &arcs[first], sum);
            }
            left &= ~lanes;
        }
    }
    total = warp_sum(total);
    if (lane_id() == 0 && total) atomicAdd(&totals[0], total);
    atomicMax(&levels, most);
    __syncthreads();
    for (u32 level = threadIdx.x; level < NEAR; level += blockDim.x) {
        if (!near_vertices[level]) continue;
        atomicAdd(&vertices[level], near_vertices[level]);
        atomicAdd(&arcs[level], near_arcs[level]);
    }
    if (threadIdx.x == 0) atomicMax(&totals[1], u64(levels));
}
