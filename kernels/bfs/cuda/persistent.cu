// Search of deep graphs in one launch: blocks carry their parts of the frontier through many hops between
// barriers, and correct labels where they meet (gravel's own; the queue of arcs as in Merrill, Garland,
// Grimshaw, PPoPP 2012, section 5.2; one resident kernel as in Luo, Wong, Hwu, DAC 2010).
//
// Contract. Rows ascend: row_offsets i64 (vertices + 1) and columns VERTEX (arcs), or what their layout says; records as
// `make_records` leaves them.
// Block: a multiple of 32 up to 512. Grid: no more blocks than run at the same time. Dynamic shared memory: twice
// `capacity` entries for each warp. hops is 1 to 64, share at most capacity, and target and wide_limit at most what
// a block and the grid can hold; dealt holds as many entries as the grid, slots 2 * blocks words.
// See hops.cuh and block_group.cuh for the way, wide.cuh for frontiers that are too wide for it.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh
// variants VERTEX: u32 u64
// variants TREE: 0 32 33
// variants WIDTH: 4 8

#include "kernels/bfs/cuda/block_group.cuh"
#include "kernels/bfs/cuda/wide.cuh"

#if IS_COLUMNS(LAYOUT)
#include "kernels/bfs/cuda/sources/hops_columns.cuh"
#else
#include "kernels/bfs/cuda/sources/hops_encoded.cuh"
#endif

extern __shared__ uint4 arena[];

// Once per graph: a record for each vertex (see hops.cuh).
extern "C" __global__ void make_records(RECORDS_PARAMETERS, VERTEX* records, u64 vertices) {
    const Rows rows = SOURCE;
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        i64 begin = row_offsets[v];
        fill_record(rows, v, begin, u64(row_offsets[v + 1] - begin), records + v * WIDTH);
    }
}

// Levels that were expanded, from the deepest label; and what keys too wide to be read as they are hold.
__device__ __forceinline__ void finish(const Graph& g, u32& deepest, i64* predecessor) {
    if (threadIdx.x == 0) deepest = 0;
    __syncthreads();
    u32 mine = 0;
    for (u64 v = global_thread(); v < g.vertices; v += global_threads()) {
        u64 key = TREE ? g.keys[v] : 0;
        i32 label = TREE ? (key == UNREACHED ? -1 : i32(key >> KEY_SHIFT)) : g.distance[v];
        if (label > i32(mine)) mine = u32(label);
    }
    mine = __reduce_max_sync(ALL_LANES, mine);
    if (lane_id() == 0) atomicMax(&deepest, mine);
    __syncthreads();
    if (threadIdx.x == 0) atomicMax(&g.log[0], u64(deepest < g.max_depth ? deepest + 1 : g.max_depth));
    write_wide(g.keys, g.distance, predecessor, g.vertices);
}

extern "C" __global__ void __launch_bounds__(512, 1)
    search(SOURCE_PARAMETERS, i32* distance, u64* keys, i64* predecessor,
           const VERTEX* records, VERTEX* queue, VERTEX* listed, VERTEX* dealt, u64* slots, u64* notice, u64* control,
           u64 huge, u64 capacity, u64 hops, u64 calm_hops, u64 target, u64 share, u64 ahead, u64 row_limit, u64 room, u64 wide_limit,
           double uneven, u64 narrow_limit, u64 patience, u64* log, u64* arrivals, u64 vertices, u64 max_depth, u64 logged, u64 source) {
    __shared__ BlockGroup group;
    __shared__ u32 deepest;
    Graph g{SOURCE,         records,    distance,       keys,          log,       vertices, logged,
            u32(max_depth), u32(ahead), u32(row_limit), u32(capacity)};
    Meeting meeting{slots, notice, dealt, room, u32(hops), u32(calm_hops), u32(target), u32(share), u32(wide_limit), uneven};
    Wide wide{queue, listed, huge, control, arrivals, 0, 0, 1};
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        if (TREE)
            keys[v] = v == source ? make_key(0, NO_PREDECESSOR) : UNREACHED;
        else
            distance[v] = v == source ? 0 : -1;
    }
    for (u64 i = global_thread(); i <= logged; i += global_threads()) log[i] = 0;
    for (u64 i = global_thread(); i < 2 * gridDim.x; i += global_threads()) slots[i] = 0;
    for (u64 i = global_thread(); i < SIDES * CONTROL_WORDS; i += global_threads()) control[i] = 0;
    if (global_thread() == 0) {
        notice[NUMBER] = 0;
        queue[0] = VERTEX(source);
    }
    if (threadIdx.x == 0) group.depth = group.epoch = group.notices = 0;
    grid_barrier(arrivals);

    u32 depth = 0, failures = 0;
    bool may_narrow = true;
    while (wide.count && depth < g.max_depth) {
        if (may_narrow && wide.count <= narrow_limit) {
            u64 parts = wide.count * 2 / target;
            parts = parts < 1 ? 1 : parts < gridDim.x ? parts : gridDim.x;
            const VERTEX* frontier = queue + wide.first;
            u32 count = u32(wide.count);
            for (u32 i = u32(global_thread()); logged && i < (count + WARP - 1) / WARP * WARP; i += u32(global_threads()))
                count_arcs(g, depth, i < count ? degree_of(g, frontier[i]) : 0);
            if (threadIdx.x == 0) group.depth = depth;
            __syncthreads();
            Outcome outcome = go_deep(g, group, meeting, arena, arrivals, frontier, count, u32(parts));
            if (outcome == FINISHED) break;
            depth = group.depth;
            restore(g, wide, depth);
            may_narrow = false;
            ++failures;
        } else {
            ++depth;
            widen(g, wide, depth);
            may_narrow = failures <= patience;
        }
    }
    grid_barrier(arrivals);
    finish(g, deepest, predecessor);
}
