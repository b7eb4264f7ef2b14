// Components by passes over all arcs, as "GPU Acceleration with CUDA: Adaptive BFS & Afforest" (Moschou,
// section 2.4) describes them: each arc looks up the roots of both ends and lowers the larger one's parent to
// the smaller one by an atomic minimum; then paths are compressed.
//
// Of two hooks of one root in the same pass the smaller parent stays and the other is lost, so one pass may
// leave a component in parts; passes are repeated until one changes nothing. With `prune` an arc is skipped if
// both its ends hang on the component `giant`, else every arc issues its atomic.
//
// Contract: row_offsets i64 (vertices + 1), columns VERTEX (arcs), component VERTEX (vertices); changed and
// apart are set to 1, never to 0. Any grid; block: a multiple of 32.
//
// variants VERTEX: u32 u64

#include "kernels/components/arcs.cuh"
#include "kernels/components/passes.cuh"

extern "C" __global__ void pass(const i64* row_offsets, const VERTEX* columns, u64 vertices, VERTEX* component,
                                const VERTEX* giant, u32 prune, u32* changed) {
    VERTEX skipped = prune ? *giant : NO_VERTEX;
    bool mine = false;
    each_arc(row_offsets, 0, vertices, columns, 0, row_offsets[vertices],
             [&](u64 v, VERTEX u) { pass_arc(component, VERTEX(v), u, skipped, prune, mine); });
    if (mine) *changed = 1;
}

// The same for the first arc of every vertex, so that a largest component is there to be sampled.
extern "C" __global__ void first_arcs(const i64* row_offsets, const VERTEX* columns, u64 vertices,
                                      VERTEX* component) {
    bool changed = false;
    for (u64 v = global_thread(); v < vertices; v += global_threads())
        if (row_offsets[v] < row_offsets[v + 1])
            pass_arc(component, VERTEX(v), columns[row_offsets[v]], NO_VERTEX, false, changed);
}

// Whether an arc joins two labels.
extern "C" __global__ void compare(const i64* row_offsets, const VERTEX* columns, u64 vertices,
                                   const VERTEX* component, u32* apart) {
    bool mine = false;
    each_arc(row_offsets, 0, vertices, columns, 0, row_offsets[vertices], [&](u64 v, VERTEX u) { mine |= component[v] != component[u]; });
    if (mine) *apart = 1;
}

// The most frequent label of 256 vertices that have arcs, if they are found; one block of 256 threads.
extern "C" __global__ void sample(const i64* row_offsets, const VERTEX* columns, u64 vertices, const VERTEX* component,
                                  VERTEX* giant) {
    u64 v = sampled_vertex(vertices, [&](u64 at) { return row_offsets[at] < row_offsets[at + 1]; });
    vote_for_giant(component[v], giant);
}
