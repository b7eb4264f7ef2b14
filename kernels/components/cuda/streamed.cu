// Joins rows that come in parts, each part once, in any order: what is joined needs no second look.
//
// Contract: component VERTEX (vertices), its own number in each at the start (`alone`). With `once` arcs to larger
// vertices are left out, which is right where every arc has its reverse. `flatten` comes last. Any grid; block: a
// multiple of 32.
//
// A part of columns is `arcs` of them from arc first_arc on, of rows low <= i < high of row_offsets i64, where row i is
// that of vertex first_row + i. A part of encoded rows is as kernels/layouts/rows.cuh says, but their stream is the
// bytes of a part from byte `base` on, a multiple of 128, in whole lines; rows first to below last, of which those of
// more than LONG_BYTES are listed (kernels/layouts/part.cuh); ticket zero before.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh
// variants VERTEX: u32 u64

#include "kernels/components/cuda/forest.cuh"
#include "kernels/layouts/is_columns.cuh"

extern "C" __global__ void alone(VERTEX* component, u64 vertices) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) component[v] = VERTEX(v);
}

__device__ __forceinline__ void join_once(VERTEX* component, VERTEX v, VERTEX u, u32 once) {
    if (once && u >= v) return;
    bool changed;
    // Most arcs lie within a tree, which two loads may tell.
    VERTEX p = parent_of(component, v), q = parent_of(component, u);
    if (p != q) join(component, p, q, NO_VERTEX, changed);
}

#if IS_COLUMNS(LAYOUT)
#include "kernels/components/cuda/arcs.cuh"

extern "C" __global__ void join_part(const i64* row_offsets, u64 first_row, u64 low, u64 high, const VERTEX* columns,
                                     u64 first_arc, u64 arcs, VERTEX* component, u32 once) {
    each_arc(row_offsets, low, high, columns, i64(first_arc), i64(first_arc + arcs),
             [&](u64 row, VERTEX u) { join_once(component, VERTEX(first_row + row), u, once); });
}
#else
#include "kernels/layouts/part.cuh"

extern "C" __global__ void join_part(ROWS_PARAMETERS, u64 base, u64 first, u64 last, const VERTEX* long_rows,
                                     u64 long_begin, u64 long_end, u64* ticket, VERTEX* component, u32 once) {
    Rows rows = make_rows(ROWS_ARGUMENTS);
    rows.stream -= base;
    decode_range(rows, RowRange{first, last, long_rows, long_begin, long_end}, ticket, [](u64) { return ~0u; },
                 [&](VERTEX v, VERTEX u, bool valid) {
                     if (valid) join_once(component, v, u, once);
                 });
}
#endif

extern "C" __global__ void flatten(VERTEX* component, u64 vertices) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        VERTEX root = root_above(component, VERTEX(v), NO_VERTEX);
        if (root != v) component[v] = root;
    }
}
