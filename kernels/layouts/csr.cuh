// Rows as columns (kernels/layouts/csr.py). A unit is UNIT_ARCS neighbours.

#include "kernels/cuda/types.cuh"

#define ROWS_PARAMETERS_AS(name) const i64 *name##_row_offsets, const VERTEX *name##_columns, u64 name##_bound
#define ROWS_ARGUMENTS_AS(name) name##_row_offsets, name##_columns, name##_bound

constexpr u64 UNIT_ARCS = 256;  // eight steps of a warp: what it costs to find a unit is spread over them

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
