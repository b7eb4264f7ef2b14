// Joins encoded rows that come in parts, each part once, in any order: what kernels/components/streamed.cu does with
// columns. The forest is made and flattened there.
//
// Contract: ROWS_PARAMETERS as in kernels/layouts/rows.cuh, but their stream is the bytes of a part from byte `base`
// on, a multiple of 128, in whole lines; rows first to below last, of which those of more than LONG_BYTES are listed
// (kernels/layouts/part.cuh); component VERTEX (vertices), a forest; ticket zero before. With `once` arcs to larger
// vertices are left out, which is right where every arc has its reverse. Any grid; block: a multiple of 32.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh with byte_offsets
// variants VERTEX: u32 u64

#include "kernels/components/forest.cuh"
#include "kernels/layouts/part.cuh"

extern "C" __global__ void join_part(ROWS_PARAMETERS, u64 base, u64 first, u64 last, const VERTEX* long_rows,
                                     u64 long_begin, u64 long_end, u64* ticket, VERTEX* component, u32 once) {
    Rows rows = make_rows(ROWS_ARGUMENTS);
    rows.stream -= base;
    bool changed;
    decode_range(rows, RowRange{first, last, long_rows, long_begin, long_end}, ticket, [](u64) { return ~0u; },
                 [&](VERTEX v, VERTEX u, bool valid) {
                     if (!valid || (once && u >= v)) return;
                     // Most arcs lie within a tree, which two loads may tell.
                     VERTEX p = parent_of(component, v), q = parent_of(component, u);
                     if (p != q) join(component, p, q, NO_VERTEX, changed);
                 });
}
