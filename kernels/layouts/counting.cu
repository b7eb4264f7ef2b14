// Counts units and loops of rows of any layout.
//
// Contract: `unit_rows` and `units` (count) name what to read. Rows lie whole in the arrays, from row 0 on.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh
// variants VERTEX: u32 u64

#include "kernels/layouts/rows.cuh"

// How many units each row has, and its weight.
extern "C" __global__ void count_units(ROWS_PARAMETERS, u64 vertices, i64* units, i64* weights) {
    Rows rows = make_rows(ROWS_ARGUMENTS);
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        units[v] = i64(row_units(rows, v));
        weights[v] = i64(row_weight(rows, v));
    }
}

// How many neighbours of each row are the row itself, 32 rows or units to a warp; `loops` (vertices) starts at 0.
extern "C" __global__ void count_loops(ROWS_PARAMETERS, u64 vertices, const i64* unit_rows, const i64* units, u64 count,
                                       u64* loops) {
    Rows rows = make_rows(ROWS_ARGUMENTS);
    u64 warp = global_thread() / WARP, warps = global_threads() / WARP;
    for (u64 group = warp; group * WARP < vertices; group += warps) {
        u64 first = group * WARP, v = first + lane_id();
        visit_units(rows, v, 0, v < vertices && row_units(rows, v) == 1, [&](u32 from, VERTEX neighbour, bool valid) {
            if (valid && u64(neighbour) == first + from) atomicAdd(&loops[neighbour], u64(1));
        });
    }
    for (u64 group = warp; group * WARP < count; group += warps) {
        u64 first = group * WARP, i = first + lane_id();
        bool active = i < count;
        auto add = [&](u32 from, VERTEX neighbour, bool valid) {
            if (valid && i64(neighbour) == unit_rows[first + from]) atomicAdd(&loops[neighbour], u64(1));
        };
        visit_units(rows, active ? u64(unit_rows[i]) : 0, active ? u64(units[i]) : 0, active, add);
    }
}
