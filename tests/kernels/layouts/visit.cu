// Reads rows of any layout through the interface of rows.cuh, a warp per unit, as searches do.
//
// Contract: `unit_rows` and `units` (count) name what to read. Rows lie whole in the arrays, from row 0 on.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh
// variants VERTEX: u32 u64

#include "kernels/layouts/rows.cuh"

// How many neighbours each unit has.
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

// Write the neighbours of each unit from places[i] on, within `room`.
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

// The sum of all neighbours of rows of one unit, and of the listed units of the others, over the cells of `sums`.
extern "C" __global__ void sum_rows(ROWS_PARAMETERS, u64 vertices, const i64* unit_rows, const i64* units, u64 count,
                                    u64* sums, u64 cells) {
    Rows rows = make_rows(ROWS_ARGUMENTS);
    u64 warp = global_thread() / WARP, warps = global_threads() / WARP, sum = 0;
    auto add = [&](VERTEX neighbour, bool valid) {
        sum += valid ? u64(neighbour) : 0;
        return true;
    };
    for (u64 v = warp; v < vertices; v += warps)
        if (row_units(rows, v) == 1) visit_unit(rows, v, 0, add);
    for (u64 i = warp; i < count; i += warps) visit_unit(rows, u64(unit_rows[i]), u64(units[i]), add);
    sum = warp_sum(sum);
    if (lane_id() == 0) atomicAdd(&sums[warp % cells], sum);
}

// The first neighbours of each row; the rest of heads (vertices, count), and of rows with fewer, stays as it was.
extern "C" __global__ void first_neighbours(ROWS_PARAMETERS, u64 vertices, u32 count, VERTEX* heads) {
    Rows rows = make_rows(ROWS_ARGUMENTS);
    for (u64 v = global_thread() / WARP; v < vertices; v += global_threads() / WARP) {
        if (!row_units(rows, v)) continue;
        u32 found = 0;
        visit_unit(rows, v, 0, [&](VERTEX neighbour, bool valid) {
            u32 lanes = __ballot_sync(ALL_LANES, valid);
            u32 mine = found + __popc(lanes & lanes_below());
            if (valid && mine < count) heads[v * count + mine] = neighbour;
            found += __popc(lanes);
            return found < count;
        });
    }
}

// Count and sum of the neighbours of each unit, 32 units to a warp.
extern "C" __global__ void tally_units(ROWS_PARAMETERS, const i64* unit_rows, const i64* units, u64 count, u64* counts,
                                       u64* sums) {
    Rows rows = make_rows(ROWS_ARGUMENTS);
    u64 groups = (count + WARP - 1) / WARP;
    for (u64 group = global_thread() / WARP; group < groups; group += global_threads() / WARP) {
        u64 first = group * WARP, i = first + lane_id();
        bool active = i < count;
        u64 v = active ? u64(unit_rows[i]) : 0, unit = active ? u64(units[i]) : 0;
        visit_units(rows, v, unit, active, [&](u32 from, VERTEX neighbour, bool valid) {
            if (!valid) return;
            atomicAdd(&counts[first + from], u64(1));
            atomicAdd(&sums[first + from], u64(neighbour));
        });
    }
}

// As sum_rows, 32 rows or units to a warp.
extern "C" __global__ void sum_rows_together(ROWS_PARAMETERS, u64 vertices, const i64* unit_rows, const i64* units, u64 count,
                                             u64* sums, u64 cells) {
    Rows rows = make_rows(ROWS_ARGUMENTS);
    u64 warp = global_thread() / WARP, warps = global_threads() / WARP, sum = 0;
    auto add = [&](u32, VERTEX neighbour, bool valid) { sum += valid ? u64(neighbour) : 0; };
    for (u64 group = warp; group * WARP < vertices; group += warps) {
        u64 v = group * WARP + lane_id();
        visit_units(rows, v, 0, v < vertices && row_units(rows, v) == 1, add);
    }
    for (u64 group = warp; group * WARP < count; group += warps) {
        u64 i = group * WARP + lane_id();
        bool active = i < count;
        visit_units(rows, active ? u64(unit_rows[i]) : 0, active ? u64(units[i]) : 0, active, add);
    }
    sum = warp_sum(sum);
    if (lane_id() == 0) atomicAdd(&sums[warp % cells], sum);
}
