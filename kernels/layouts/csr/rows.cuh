// Rows as columns (kernels/layouts/csr/__init__.py). A unit is UNIT_ARCS neighbours.

#include "kernels/layouts/bits.cuh"

#define ROWS_PARAMETERS_AS(name) const i64 *name##_row_offsets, const VERTEX *name##_columns, u64 name##_bound
#define ROWS_ARGUMENTS_AS(name) name##_row_offsets, name##_columns, name##_bound

constexpr u64 UNIT_ARCS = 256;  // eight steps of a warp: what it costs to find a unit is spread over them
constexpr u32 MAX_IN_UNIT = UNIT_ARCS;
constexpr bool RANDOM_ACCESS = true;

struct Rows {
    const i64* row_offsets;
    const VERTEX* columns;
    u64 bound;
};

__device__ __forceinline__ Rows make_rows(const i64* row_offsets, const VERTEX* columns, u64 bound) {
    return Rows{row_offsets, columns, bound};
}

// Neighbours of row v.
__device__ __forceinline__ u64 row_weight(const Rows& rows, u64 v) {
    return u64(rows.row_offsets[v + 1] - rows.row_offsets[v]);
}

__device__ __forceinline__ u64 row_units(const Rows& rows, u64 v) {
    return (row_weight(rows, v) + UNIT_ARCS - 1) / UNIT_ARCS;
}

template <class Visit>
__device__ __forceinline__ bool visit_unit(const Rows& rows, u64 v, u64 unit, Visit visit) {
    i64 arc = rows.row_offsets[v] + i64(unit * UNIT_ARCS), row_end = rows.row_offsets[v + 1];
    i64 end = row_end - arc < i64(UNIT_ARCS) ? row_end : arc + i64(UNIT_ARCS);
    for (; arc < end; arc += WARP) {
        i64 mine = arc + lane_id();
        VERTEX neighbour = mine < end ? rows.columns[mine] : VERTEX(0);
        if (!visit(neighbour, mine < end && u64(neighbour) < rows.bound)) return false;
    }
    return true;
}

template <class Visit>
__device__ __forceinline__ void visit_units(const Rows& rows, u64 v, u64 unit, bool active, const Visit& visit) {
    i64 begin = 0;
    u32 count = 0;
    if (active) {
        begin = rows.row_offsets[v] + i64(unit * UNIT_ARCS);
        i64 left = rows.row_offsets[v + 1] - begin;
        count = u32(left < i64(UNIT_ARCS) ? left : i64(UNIT_ARCS));
    }
    u32 upto = warp_inclusive_sum(count), total = __shfl_sync(ALL_LANES, upto, WARP - 1);
    for (u32 round = 0; round < total; round += WARP) {
        u32 item = round + lane_id(), from = owner_of(upto, item);
        u32 k = item - (__shfl_sync(ALL_LANES, upto, from) - __shfl_sync(ALL_LANES, count, from));
        i64 arc = __shfl_sync(ALL_LANES, begin, from) + k;
        VERTEX neighbour = item < total ? rows.columns[arc] : VERTEX(0);
        visit(from, neighbour, item < total && u64(neighbour) < rows.bound);
    }
}
