// Components by passes over all arcs, as "GPU Acceleration with CUDA: Adaptive BFS & Afforest" (Moschou,
// section 2.4) describes them: each arc looks up the roots of both ends and lowers the larger one's parent to
// the smaller one by an atomic minimum; then paths are compressed.
//
// Of two hooks of one root in the same pass the smaller parent stays and the other is lost, so one pass may
// leave a component in parts; passes are repeated until one changes nothing. With `prune` an arc is skipped if
// both its ends hang on the component `giant`, else every arc issues its atomic.
//
// Contract: READS_PARAMETERS as passes_columns.cuh or passes_encoded.cuh says; component VERTEX (vertices); changed and
// apart are set to 1, never to 0. Any grid; block: a multiple of 32.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh
// variants VERTEX: u32 u64

#include "kernels/papers/moschou/passes.cuh"
#include "kernels/layouts/is_columns.cuh"

#if IS_COLUMNS(LAYOUT)
#include "kernels/papers/moschou/passes_columns.cuh"
#else
#include "kernels/papers/moschou/passes_encoded.cuh"
#endif

extern "C" __global__ void pass(READS_PARAMETERS, u64 vertices, VERTEX* component, const VERTEX* giant, u32 prune,
                                u32* changed) {
    const Reads reads = READS;
    VERTEX skipped = prune ? *giant : NO_VERTEX;
    bool mine = false;
    reads.each(vertices, [&](u64 v, VERTEX u) { pass_arc(component, VERTEX(v), u, skipped, prune, mine); });
    if (mine) *changed = 1;
}

// The same for the first arc of every vertex, so that a largest component is there to be sampled.
extern "C" __global__ void first_arcs(READS_PARAMETERS, u64 vertices, VERTEX* component) {
    const Reads reads = READS;
    bool changed = false;
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        VERTEX first = VERTEX(0);
        if (reads.first(v, first)) pass_arc(component, VERTEX(v), first, NO_VERTEX, false, changed);
    }
}

// Whether an arc joins two labels.
extern "C" __global__ void compare(READS_PARAMETERS, u64 vertices, const VERTEX* component, u32* apart) {
    const Reads reads = READS;
    bool mine = false;
    reads.each(vertices, [&](u64 v, VERTEX u) { mine |= component[v] != component[u]; });
    if (mine) *apart = 1;
}

// The most frequent label of 256 vertices that have arcs, if they are found; one block of 256 threads.
extern "C" __global__ void sample(READS_PARAMETERS, u64 vertices, const VERTEX* component, VERTEX* giant) {
    const Reads reads = READS;
    u64 v = sampled_vertex(vertices, [&](u64 at) { return reads.has_arcs(at); });
    vote_for_giant(component[v], giant);
}
