// Reads all rows of a layout of bit strings back into columns, a warp per row or unit.
//
// Contract: rows have the numbers first_row... and byte_offsets as their first offset is 0. `read_degrees` sets
// degrees i64 (rows), at most 8 times a row's bytes. `read_rows` fills columns VERTEX; `check_seams` comes after it.
// faults[0] = the least row that does not fit << 2 | reason.
//
// variants LAYOUT: blocks elias_fano
// variants VERTEX: u32 u64

#include "kernels/layouts/rows.cuh"
#include "kernels/layouts/units.cuh"

extern "C" __global__ void read_degrees(ROWS_PARAMETERS, u64 count, u64 first_row, i64* degrees) {
    Rows rows = make_rows(ROWS_ARGUMENTS);
    rows.byte_offsets -= first_row;
    for (u64 v = global_thread(); v < count; v += global_threads()) degrees[v] = i64(row_degree(rows, first_row + v));
}

extern "C" __global__ void read_rows(ROWS_PARAMETERS, DEAL_PARAMETERS, u64 first_row, u64 largest, VERTEX* columns,
                                     u64* faults) {
    Rows rows = make_rows(ROWS_ARGUMENTS);
    rows.byte_offsets -= first_row;
    each_unit(Deal{DEAL_ARGUMENTS}, UNIT_ARCS, [&](u64 row, u64 unit, i64 begin, u32 count) {
        u32 found = 0;
        bool broken = false, beyond = false;
        VERTEX before = 0;
        visit_unit(rows, first_row + row, unit, [&](VERTEX neighbour, bool valid) {
            u32 lanes = __ballot_sync(ALL_LANES, valid);
            // Valid neighbours fill the lanes from the first on.
            VERTEX left = __shfl_up_sync(ALL_LANES, neighbour, 1);
            if (lane_id() == 0) left = before;
            broken |= valid && neighbour < left;
            beyond |= valid && u64(neighbour) > largest;
            u32 mine = found + lane_id();
            if (valid && mine < count) columns[begin + mine] = neighbour;
            if (lanes) before = __shfl_sync(ALL_LANES, neighbour, 31 - __clz(i32(lanes)));
            found += __popc(lanes);
            return true;
        });
        if (broken || found != count) report(faults, row, BROKEN);
        else if (beyond) report(faults, row, OUT_OF_RANGE);
    });
}

extern "C" __global__ void check_seams(DEAL_PARAMETERS, const VERTEX* columns, u64* faults) {
    each_unit(Deal{DEAL_ARGUMENTS}, UNIT_ARCS, [&](u64 row, u64 unit, i64 begin, u32) {
        if (unit && columns[begin] < columns[begin - 1]) report(faults, row, BROKEN);
    });
}
