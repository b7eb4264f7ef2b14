// Reads rows of any layout through the interface of rows.cuh, a warp per unit: what every search does with them.
//
// Contract: `unit_rows` and `units` (count) name what to read; counts (count) gets the valid neighbours of each.
// `write_units` puts them at places[i]... of `columns`, which holds `room` of them.
//
// variants LAYOUT: csr varint blocks elias_fano
// variants VERTEX: u32 u64

#include "kernels/layouts/rows.cuh"

extern "C" __global__ void count_units(ROWS_PARAMETERS, u64 vertices, i64* units, i64* weights) {
    Rows rows = make_rows(ROWS_ARGUMENTS);
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        units[v] = i64(row_units(rows, v));
        weights[v] = i64(row_weight(rows, v));
    }
}

extern "C" __global__ void measure_units(ROWS_PARAMETERS, const i64* unit_rows, const i64* units, u64 count, i64* counts) {
    Rows rows = make_rows(ROWS_ARGUMENTS);
    for (u64 i = global_thread() / WARP; i < count; i += global_threads() / WARP) {
        u64 found = 0;
        visit_unit(rows, u64(unit_rows[i]), u64(units[i]), [&](VERTEX, bool valid) {
            found += __popc(__ballot_sync(ALL_LANES, valid));
            return true;
        });
        if (lane_id() == 0) counts[i] = i64(found);
    }
}

extern "C" __global__ void write_units(ROWS_PARAMETERS, const i64* unit_rows, const i64* units, u64 count,
                                       const i64* places, u64 room, VERTEX* columns) {
    Rows rows = make_rows(ROWS_ARGUMENTS);
    for (u64 i = global_thread() / WARP; i < count; i += global_threads() / WARP) {
        u64 place = u64(places[i]);
        visit_unit(rows, u64(unit_rows[i]), u64(units[i]), [&](VERTEX neighbour, bool valid) {
            u32 lanes = __ballot_sync(ALL_LANES, valid);
            u64 mine = place + __popc(lanes & lanes_below());
            if (valid && mine < room) columns[mine] = neighbour;
            place += __popc(lanes);
            return true;
        });
    }
}

// How many neighbours a visitor sees that stops at the first one not below `goal`.
extern "C" __global__ void stop_units(ROWS_PARAMETERS, const i64* unit_rows, const i64* units, u64 count, u64 goal,
                                      i64* counts) {
    Rows rows = make_rows(ROWS_ARGUMENTS);
    for (u64 i = global_thread() / WARP; i < count; i += global_threads() / WARP) {
        u64 below = 0;
        visit_unit(rows, u64(unit_rows[i]), u64(units[i]), [&](VERTEX neighbour, bool valid) {
            below += __popc(__ballot_sync(ALL_LANES, valid && u64(neighbour) < goal));
            return !__any_sync(ALL_LANES, valid && u64(neighbour) >= goal);
        });
        if (lane_id() == 0) counts[i] = i64(below);
    }
}
