// BFS with one queue of vertices and linear work (Merrill, Garland, Grimshaw, TOPC 2015, Algorithm 3): each
// thread takes vertices of the frontier, reads their rows alone, and adds every neighbour that it is the
// first to reach to the queue with an atomic of its own (the paper's LockedEnqueue).
//
// Every vertex enters once, so the queue holds `vertices` entries and slides: queue[first:last] is the
// frontier. Departure from the paper: the claim of a vertex is atomic, which keeps duplicates out.
//
// Contract. row_offsets i64 (vertices + 1), columns VERTEX. queue VERTEX (vertices), counters u64
// (ROUNDS, COUNTER_WORDS). Block: a multiple of 32. Grid: no more blocks than run at the same time.
//
// variants VERTEX: u32 u64
// variants TREE: 0 32 33

#include "kernels/bfs/baseline.cuh"
#include "kernels/cuda/grid_barrier.cuh"

extern "C" __global__ void __launch_bounds__(1024, 1)
    search(const i64* row_offsets, const VERTEX* columns, i32* distance, u64* keys, i64* predecessor, VERTEX* queue,
           u64* counters, u64* log, u64* arrivals, u64 vertices, u64 max_depth, u64 logged, u64 source) {
    Graph g{row_offsets, columns, distance, keys};
    begin_search(g, log, logged, vertices, source);
    if (global_thread() == 0) queue[0] = VERTEX(source);
    if (global_thread() < ROUNDS) counters[global_thread() * COUNTER_WORDS] = 0;
    grid_barrier(arrivals);

    u64 first = 0, last = 1;
    u32 level = 0;
    while (last > first && level < max_depth) {
        u64* count = &counters[level % ROUNDS * COUNTER_WORDS];
        if (global_thread() == 0) counters[(level + 1) % ROUNDS * COUNTER_WORDS] = 0;
        u64 arcs = 0;
        for (u64 i = first + global_thread(); i < last; i += global_threads()) {
            VERTEX vertex = queue[i];
            i64 begin = g.row_offsets[vertex], end = g.row_offsets[u64(vertex) + 1];
            arcs += u64(end - begin);
            for (i64 k = begin; k < end; ++k) {
                VERTEX neighbour = g.columns[k];
                if (claim(g, neighbour, vertex, level + 1)) queue[last + atomicAdd(count, 1ull)] = neighbour;
            }
        }
        log_arcs(log, logged, level, arcs);
        grid_barrier(arrivals);
        first = last;
        last += load_relaxed(count);
        ++level;
    }
    if (global_thread() == 0) log[0] = level;
    write_wide(keys, distance, predecessor, vertices);
}
