// FlexBFS, configurations Fixed and Baseline of its table 1: a launch per level, whose frontier's size goes back
// to the host. The host gives Fixed the same threads for every level, Baseline as many as there are vertices.
//
// Contract. row_offsets i64 (vertices + 1), columns VERTEX. queue VERTEX (vertices), counters u64
// (ROUNDS, COUNTER_WORDS). Any block and grid. See flex.cuh.
//
// variants VERTEX: u32 u64
// variants TREE: 0 32 33

#include "kernels/papers/flexbfs/flex.cuh"

extern "C" __global__ void __launch_bounds__(1024, 1)
    expand_level(const i64* row_offsets, const VERTEX* columns, i32* distance, u64* keys, VERTEX* queue, u64* counters,
                 u64* log, u64 logged, u64 level, u64 first, u64 last) {
    Graph g{row_offsets, columns, distance, keys};
    u64* mine = counters + level % ROUNDS * COUNTER_WORDS;
    if (global_thread() == 0) counters[(level + 1) % ROUNDS * COUNTER_WORDS + FOUND] = 0;
    u64 arcs = 0;
    for (u64 i = first + global_thread(); i < last; i += global_threads()) {
        VERTEX vertex = queue[i];
        i64 begin = g.row_offsets[vertex], end = g.row_offsets[u64(vertex) + 1];
        arcs += u64(end - begin);
        expand_row(g, vertex, begin, end, u32(level) + 1,
                   [&](VERTEX neighbour) { queue[last + atomicAdd(&mine[FOUND], 1ull)] = neighbour; });
    }
    log_arcs(log, logged, u32(level), arcs);
}
