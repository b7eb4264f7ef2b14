// Joins arcs that come in parts, each part once, in any order: what is joined needs no second look.
//
// Contract: component VERTEX (vertices), its own number in each at the start (`alone`). A part is `arcs` columns
// from arc first_arc on, of rows low <= i < high of row_offsets i64, where row i is that of vertex first_row + i.
// With `once` arcs to larger vertices are left out, which is right where every arc has its reverse. `flatten`
// comes last. Any grid; block: a multiple of 32.
//
// variants VERTEX: u32 u64

#include "kernels/components/arcs.cuh"
#include "kernels/components/forest.cuh"

extern "C" __global__ void alone(VERTEX* component, u64 vertices) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) component[v] = VERTEX(v);
}

extern "C" __global__ void join_part(const i64* row_offsets, u64 first_row, u64 low, u64 high, const VERTEX* columns,
                                     u64 first_arc, u64 arcs, VERTEX* component, u32 once) {
    bool changed;
    each_arc(row_offsets, low, high, columns, i64(first_arc), i64(first_arc + arcs), [&](u64 row, VERTEX u) {
        VERTEX v = VERTEX(first_row + row);
        if (once && u >= v) return;
        // Most arcs lie within a tree, which two loads may tell.
        VERTEX p = parent_of(component, v), q = parent_of(component, u);
        if (p != q) join(component, p, q, NO_VERTEX, changed);
    });
}

extern "C" __global__ void flatten(VERTEX* component, u64 vertices) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        VERTEX root = root_above(component, VERTEX(v), NO_VERTEX);
        if (root != v) component[v] = root;
    }
}
