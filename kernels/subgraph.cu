// Rows of an induced subgraph from those of its parent, in any layout; the CPU twin is kernels/subgraph.py.
//
// Contract: at u64 (count) has the parent's row of each chosen vertex, and number VERTEX (vertices) the vertex of the
// subgraph of each of the parent's rows, all ones for one that is not chosen. A warp takes a row: count_arcs stores its
// arcs between chosen vertices in lengths i64 (count), and adds self-loops to loops; write_arcs stores their columns,
// VERTEX, from offsets[i] on, in the order of the parent. Where there are weights (else null), of 4 bytes each, arc k of
// the parent's row v has weights[starts[v] + k]. Any block that is a multiple of 32.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh
// variants VERTEX: u32 u64

#include "kernels/layouts/rows.cuh"

constexpr VERTEX NOT_CHOSEN = VERTEX(~0ull);

extern "C" __global__ void count_arcs(ROWS_PARAMETERS, const u64* at, u64 count, const VERTEX* number, i64* lengths,
                                      u64* loops) {
    const Rows rows = make_rows(ROWS_ARGUMENTS);
    for (u64 i = global_thread() / WARP; i < count; i += global_threads() / WARP) {
        u64 row = at[i], units = row_units(rows, row);
        u64 arcs = 0, own = 0;
        for (u64 unit = 0; unit < units; ++unit)
            visit_unit(rows, row, unit, [&](VERTEX neighbour, bool valid) {
                VERTEX found = valid ? number[neighbour] : NOT_CHOSEN;
                arcs += __popc(__ballot_sync(ALL_LANES, found != NOT_CHOSEN));
                own += __popc(__ballot_sync(ALL_LANES, found != NOT_CHOSEN && u64(found) == i));
                return true;
            });
        if (lane_id()) continue;
        lengths[i] = i64(arcs);
        if (own) atomicAdd(loops, own);
    }
}

extern "C" __global__ void write_arcs(ROWS_PARAMETERS, const u64* at, u64 count, const VERTEX* number,
                                      const i64* offsets, VERTEX* columns, const i64* starts, const u32* weights,
                                      u32* kept) {
    const Rows rows = make_rows(ROWS_ARGUMENTS);
    for (u64 i = global_thread() / WARP; i < count; i += global_threads() / WARP) {
        u64 row = at[i], units = row_units(rows, row);
        i64 to = offsets[i], from = weights ? starts[row] : 0;
        for (u64 unit = 0; unit < units; ++unit)
            visit_unit(rows, row, unit, [&](VERTEX neighbour, bool valid) {
                VERTEX found = valid ? number[neighbour] : NOT_CHOSEN;
                u32 read = __ballot_sync(ALL_LANES, valid), chosen = __ballot_sync(ALL_LANES, found != NOT_CHOSEN);
                if (found != NOT_CHOSEN) {
                    i64 place = to + __popc(chosen & lanes_below());
                    columns[place] = found;
                    if (weights) kept[place] = weights[from + __popc(read & lanes_below())];
                }
                to += __popc(chosen);
                from += __popc(read);
                return true;
            });
    }
}
