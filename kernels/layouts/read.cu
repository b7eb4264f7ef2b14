// Reads all rows of a layout of bit strings back into columns, a warp per row or unit.
//
// Contract: rows have the numbers first_row... and byte_offsets as their first offset is 0. `read_degrees` sets
// degrees i64 (rows), at most 8 times a row's bytes. `read_rows` fills columns VERTEX; `check_seams` comes after it.
// faults[0] = the least row that does not fit << 2 | reason.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh with plan_unit
// variants VERTEX: u32 u64

#include "kernels/layouts/rows.cuh"
#include "kernels/layouts/units.cuh"

extern "C" __global__ void read_degrees(ROWS_PARAMETERS, u64 count, u64 first_row, i64* degrees) {
    Rows rows = make_rows(ROWS_ARGUMENTS);
    rows.byte_offsets -= first_row;
    for (u64 v = global_thread(); v < count; v += global_threads()) degrees[v] = i64(row_degree(rows, first_row + v));
}

constexpr u32 STAGED = WARP * CHUNK, STAGED_WORDS = STAGED + STAGED / CHUNK;
constexpr u32 MAX_WARPS = 8;  // of a block

// Read the units that the lanes bring into `columns`, each from its `begin` on. Chunks that follow one another there
// go through `staged`, so that a warp writes to consecutive places; a word between them spreads them over all banks.
__device__ __forceinline__ void read_units(const Plan& plan, u64 row, u64 begin, u64 largest, VERTEX* columns,
                                           VERTEX* staged, u64* faults) {
    VERTEX last = 0;  // of the chunk before
    each_chunk<LEAD>(plan, [&](u32 from, u32 number, u32 count, VERTEX (&neighbours)[CHUNK]) {
        u64 owner = __shfl_sync(ALL_LANES, row, from);
        u32 arcs = __shfl_sync(ALL_LANES, plan.arcs, from), left = arcs > number ? arcs - number : 0;
        u32 wanted = left < CHUNK ? left : CHUNK;
        u64 place = __shfl_sync(ALL_LANES, begin, from) + number;
        u32 upto = warp_inclusive_sum(wanted), total = __shfl_sync(ALL_LANES, upto, WARP - 1);
        u64 start = place - (upto - wanted), of_first = __shfl_sync(ALL_LANES, start, 0);
        bool together = __all_sync(ALL_LANES, !wanted || start == of_first);
        bool broken = count < wanted, beyond = false;
        VERTEX own = 0;
#pragma unroll
        for (u32 i = 0; i < CHUNK; ++i) {
            if (i >= count) continue;
            broken |= i && neighbours[i] < own;
            own = neighbours[i];
            beyond |= u64(own) > largest;
            u32 at = upto - wanted + i;
            if (together) staged[at + at / CHUNK] = own;
            else columns[place + i] = own;
        }
        VERTEX left_last = __shfl_up_sync(ALL_LANES, own, 1);
        if (lane_id() == 0) left_last = last;
        if (count && number) broken |= neighbours[0] < left_last;
        last = __shfl_sync(ALL_LANES, own, WARP - 1);
        if (together) {
            __syncwarp();
            for (u32 at = lane_id(); at < total; at += WARP) columns[of_first + at] = staged[at + at / CHUNK];
            __syncwarp();
        }
        if (broken) report(faults, owner, BROKEN);
        else if (beyond) report(faults, owner, OUT_OF_RANGE);
    });
}

// Rows of one unit, 32 to a warp, then the units of the others likewise.
extern "C" __global__ void __launch_bounds__(MAX_WARPS* WARP)
    read_rows(ROWS_PARAMETERS, DEAL_PARAMETERS, u64 first_row, u64 largest, VERTEX* columns, u64* faults) {
    __shared__ VERTEX staged[MAX_WARPS][STAGED_WORDS];
    Rows rows = make_rows(ROWS_ARGUMENTS);
    rows.byte_offsets -= first_row;
    const Deal deal{DEAL_ARGUMENTS};
    VERTEX* own = staged[warp_id()];
    u64 groups = (deal.rows + WARP - 1) / WARP, units = deal.long_count ? u64(deal.long_units[deal.long_count]) : 0;
    for (u64 group = global_thread() / WARP; group < groups; group += global_threads() / WARP) {
        u64 row = group * WARP + lane_id(), begin = 0, degree = 0;
        if (row < deal.rows) {
            begin = u64(deal.row_offsets[row]);
            degree = u64(deal.row_offsets[row + 1]) - begin;
        }
        Plan plan = no_plan();
        if (degree && degree <= UNIT_ARCS) plan = plan_unit(rows, first_row + row, 0);
        read_units(plan, row, begin, largest, columns, own, faults);
    }
    groups = (units + WARP - 1) / WARP;
    for (u64 group = global_thread() / WARP; group < groups; group += global_threads() / WARP) {
        u64 item = group * WARP + lane_id(), row = 0, begin = 0;
        Plan plan = no_plan();
        if (item < units) {
            u64 unit;
            row = long_unit(deal, item, unit);
            begin = u64(deal.row_offsets[row]) + unit * UNIT_ARCS;
            plan = plan_unit(rows, first_row + row, unit);
        }
        read_units(plan, row, begin, largest, columns, own, faults);
    }
}

extern "C" __global__ void check_seams(DEAL_PARAMETERS, const VERTEX* columns, u64* faults) {
    each_unit(Deal{DEAL_ARGUMENTS}, UNIT_ARCS, [&](u64 row, u64 unit, i64 begin, u32) {
        if (unit && columns[begin] < columns[begin - 1]) report(faults, row, BROKEN);
    });
}
