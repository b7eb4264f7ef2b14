// What a search reached, level by level, and the ends of edges of each vertex; the CPU twin is
// kernels/level_statistics.py.
//
// Contract: rows are `row_offsets` i64 (rows + 1) and `columns` VERTEX, each row ascending, the first of them row
// `first_row` of its graph. `ends` i64 (rows) counts the distinct neighbours of each row, a self-loop twice. Distances
// are i32, -1 for what was not reached, all below `levels`. `vertices` and `arcs` u64 (levels) and `summed` u64 (1)
// start at 0; `halves` i64 (vertices) may be null. Any block of whole warps.
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

constexpr u32 SHARED_LEVELS = 1024;  // 16 KiB of a block, which leaves a processor all its warps

// A warp adds up what its lanes have of each level that occurs among them, which are few in a shallow search: lanes
// that add to the same place one by one would wait for each other. Levels beyond SHARED_LEVELS are those of deep
// searches, whose vertices are spread over many.
extern "C" __global__ void level_sums(const i32* distance, const i64* row_offsets, const i64* halves, u64 count, u64 levels,
                                      u64* vertices, u64* arcs, u64* summed) {
    __shared__ u64 shared_vertices[SHARED_LEVELS], shared_arcs[SHARED_LEVELS];
    u32 kept = levels < SHARED_LEVELS ? u32(levels) : SHARED_LEVELS;
    for (u32 level = threadIdx.x; level < kept; level += blockDim.x) shared_vertices[level] = shared_arcs[level] = 0;
    __syncthreads();
    u64 total = 0;
    u64 stride = global_threads(), whole = (count + WARP - 1) / WARP * WARP;
    for (u64 v = global_thread(); v < whole; v += stride) {
        i32 level = v < count ? distance[v] : -1;
        u64 degree = level < 0 ? 0 : u64(row_offsets[v + 1] - row_offsets[v]);
        if (level >= 0 && halves) total += u64(halves[v]);
        u32 left = __ballot_sync(ALL_LANES, level >= 0);
        while (left) {
            i32 first = __shfl_sync(ALL_LANES, level, __ffs(left) - 1);
            bool same = level == first;
            u32 lanes = __ballot_sync(ALL_LANES, same);
            u64 sum = warp_sum(same ? degree : u64(0));
            if (lane_id() == 0) {
                bool near = u32(first) < kept;
                atomicAdd(near ? &shared_vertices[first] : &vertices[first], u64(__popc(lanes)));
                atomicAdd(near ? &shared_arcs[first] : &arcs[first], sum);
            }
            left &= ~lanes;
        }
    }
    total = warp_sum(total);
    if (lane_id() == 0 && total) atomicAdd(summed, total);
    __syncthreads();
    for (u32 level = threadIdx.x; level < kept; level += blockDim.x) {
        if (!shared_vertices[level]) continue;
        atomicAdd(&vertices[level], shared_vertices[level]);
        atomicAdd(&arcs[level], shared_arcs[level]);
    }
}
