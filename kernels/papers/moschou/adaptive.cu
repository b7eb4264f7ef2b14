// Adaptive BFS (Moschou, section 2.2): a thread reads the row of a frontier vertex alone if it has fewer arcs
// than a threshold, else its warp reads it together. New vertices of a warp are counted by a ballot, so that
// one atomic reserves room for all of them.
//
// The report passes a long row to the warp through shared memory; here shuffles do. It states no threshold.
//
// variants VERTEX: u32 u64
// variants TREE: 0 32 33

#include "kernels/papers/baselines/sliding_queue.cuh"
#include "kernels/cuda/lanes.cuh"

// Expand the vertices that the lanes of a warp hold; a row of none begins and ends at 0.
__device__ __forceinline__ void expand(const Graph& g, VERTEX vertex, i64 begin, i64 end, u32 depth, i64 threshold,
                                       VERTEX* next, u64* count) {
    bool large = end - begin >= threshold;
    i64 stop = large ? begin : end;
    for (i64 k = begin; __any_sync(ALL_LANES, k < stop); ++k) {
        VERTEX neighbour = k < stop ? g.columns[k] : VERTEX(0);
        append(next, count, k < stop && claim(g, neighbour, vertex, depth), neighbour);
    }
    u32 rows = __ballot_sync(ALL_LANES, large);
    while (rows) {
        u32 from = take_lowest(rows);
        i64 row = __shfl_sync(ALL_LANES, begin, from), row_end = __shfl_sync(ALL_LANES, end, from);
        VERTEX owner = __shfl_sync(ALL_LANES, vertex, from);
        for (i64 base = row; base < row_end; base += WARP) {
            bool valid = base + lane_id() < row_end;
            VERTEX neighbour = valid ? g.columns[base + lane_id()] : VERTEX(0);
            append(next, count, valid && claim(g, neighbour, owner, depth), neighbour);
        }
    }
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    search(const i64* row_offsets, const VERTEX* columns, i32* distance, u64* keys, i64* predecessor, VERTEX* queue,
           u64* counters, u64 threshold, u64* log, u64* arrivals, u64 vertices, u64 max_depth, u64 logged, u64 source) {
    Graph g{row_offsets, columns, distance, keys};
    auto expand_frontier = [&](const SlidingQueue& q, u64* count) {
        u64 arcs = 0;
        for (u64 base = q.first + global_thread() - lane_id(); base < q.last; base += global_threads()) {
            bool valid = base + lane_id() < q.last;
            VERTEX vertex = valid ? q.queue[base + lane_id()] : VERTEX(0);
            i64 begin = valid ? g.row_offsets[vertex] : 0;
            i64 end = valid ? g.row_offsets[u64(vertex) + 1] : 0;
            arcs += u64(end - begin);
            expand(g, vertex, begin, end, q.level + 1, i64(threshold), q.queue + q.last, count);
        }
        return arcs;
    };
    search_levels(g, {queue, counters, max_depth}, predecessor, log, arrivals, vertices, logged, source, expand_frontier);
}
