// BFS with one queue of vertices and linear work (Merrill, Garland, Grimshaw, TOPC 2015, Algorithm 3): each
// thread takes vertices of the frontier, reads their rows alone, and adds every neighbour that it is the
// first to reach to the queue with an atomic of its own (the paper's LockedEnqueue).
//
// Departure from the paper: the claim of a vertex is atomic, which keeps duplicates out.
//
// variants VERTEX: u32 u64
// variants TREE: 0 32 33

#include "kernels/papers/baselines/sliding_queue.cuh"

extern "C" __global__ void __launch_bounds__(1024, 1)
    search(const i64* row_offsets, const VERTEX* columns, i32* distance, u64* keys, i64* predecessor, VERTEX* queue,
           u64* counters, u64* log, u64* arrivals, u64 vertices, u64 max_depth, u64 logged, u64 source) {
    Graph g{row_offsets, columns, distance, keys};
    auto expand = [&](const SlidingQueue& q, u64* count) {
        u64 arcs = 0;
        for (u64 i = q.first + global_thread(); i < q.last; i += global_threads()) {
            VERTEX vertex = q.queue[i];
            i64 begin = g.row_offsets[vertex], end = g.row_offsets[u64(vertex) + 1];
            arcs += u64(end - begin);
            expand_row(g, vertex, begin, end, q.level + 1, [&](VERTEX neighbour) {
                q.queue[q.last + atomicAdd(count, 1ull)] = neighbour;
            });
        }
        return arcs;
    };
    search_levels(g, {queue, counters, max_depth}, predecessor, log, arrivals, vertices, logged, source, expand);
}
