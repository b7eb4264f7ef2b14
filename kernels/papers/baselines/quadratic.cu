// Quadratic BFS: every level checks the label of every vertex (Merrill, Garland, Grimshaw, TOPC 2015,
// Algorithm 2). Its warp mapping is that of Hong, Kim, Oguntebi, Olukotun, PPoPP 2011, section 3: a warp
// takes as many vertices as it has lanes, reads their labels together and the row of each with all lanes.
//
// Without TREE (see labels.cuh) a label is a plain store: all that write a vertex in one level write the same.
//
// Departure from the paper: a level says that it found a vertex, so that no last sweep is needed to see that
// the frontier is empty.
//
// Contract. row_offsets i64 (vertices + 1), columns VERTEX. found u64 (ROUNDS). by_warp: 0 for a thread per
// vertex, 1 for a warp. Block: a multiple of 32. Grid: no more blocks than run at the same time.
//
// variants VERTEX: u32 u64
// variants TREE: 0 32 33

#include "kernels/papers/baselines/baseline.cuh"
#include "kernels/cuda/grid_barrier.cuh"
#include "kernels/cuda/lanes.cuh"

__device__ __forceinline__ bool on_frontier(const Graph& g, u64 vertex, u32 level) {
    return TREE ? g.keys[vertex] >> KEY_SHIFT == level : g.distance[vertex] == i32(level);
}

// Label a neighbour; true if it had no label before.
__device__ __forceinline__ bool label(const Graph& g, VERTEX vertex, VERTEX predecessor, u32 depth) {
    if (TREE) return claim(g, vertex, predecessor, depth);
    bool newly = g.distance[vertex] == -1;
    if (newly) g.distance[vertex] = i32(depth);
    return newly;
}

__device__ __forceinline__ bool sweep_by_thread(const Graph& g, u64 vertices, u32 level, u64& arcs) {
    bool found = false;
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        if (!on_frontier(g, v, level)) continue;
        i64 end = g.row_offsets[v + 1];
        arcs += u64(end - g.row_offsets[v]);
        for (i64 k = g.row_offsets[v]; k < end; ++k) found |= label(g, g.columns[k], VERTEX(v), level + 1);
    }
    return found;
}

__device__ __forceinline__ bool sweep_by_warp(const Graph& g, u64 vertices, u32 level, u64& arcs) {
    bool found = false;
    for (u64 first = global_thread() - lane_id(); first < vertices; first += global_threads()) {
        u64 v = first + lane_id();
        bool active = v < vertices && on_frontier(g, v, level);
        i64 begin = active ? g.row_offsets[v] : 0, end = active ? g.row_offsets[v + 1] : 0;
        arcs += u64(end - begin);
        u32 rows = __ballot_sync(ALL_LANES, active);
        while (rows) {
            u32 from = take_lowest(rows);
            i64 row = __shfl_sync(ALL_LANES, begin, from), row_end = __shfl_sync(ALL_LANES, end, from);
            for (i64 k = row + lane_id(); k < row_end; k += WARP)
                found |= label(g, g.columns[k], VERTEX(first + from), level + 1);
        }
    }
    return found;
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    search(const i64* row_offsets, const VERTEX* columns, i32* distance, u64* keys, i64* predecessor, u64* found,
           u64 by_warp, u64* log, u64* arrivals, u64 vertices, u64 max_depth, u64 logged, u64 source) {
    Graph g{row_offsets, columns, distance, keys};
    begin_search(g, log, logged, vertices, source);
    if (global_thread() < ROUNDS) found[global_thread()] = 0;
    grid_barrier(arrivals);

    u32 level = 0;
    bool more = true;
    while (more && level < max_depth) {
        u64* flag = &found[level % ROUNDS];
        if (global_thread() == 0) found[(level + 1) % ROUNDS] = 0;
        u64 arcs = 0;
        bool mine = by_warp ? sweep_by_warp(g, vertices, level, arcs) : sweep_by_thread(g, vertices, level, arcs);
        if (__any_sync(ALL_LANES, mine) && lane_id() == 0) store_relaxed(flag, 1);
        log_arcs(log, logged, level, arcs);
        grid_barrier(arrivals);
        more = load_relaxed(flag) != 0;
        ++level;
    }
    if (global_thread() == 0) log[0] = level;
    write_wide(keys, distance, predecessor, vertices);
}
