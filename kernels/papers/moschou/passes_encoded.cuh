// Arcs of encoded rows as passes visit them: rows are decoded where they are read.
//
// ONE_LANE: a warp takes a row, which its first lane decodes, 32 neighbours at a time, and all lanes join them, as
// Moschou (section 2.3) has it. Else a warp takes 32 rows, which its lanes decode together; `hubs`, the rows of UNITS
// units or more, are split over the grid.
//
// Contract: ROWS_PARAMETERS as kernels/layouts/rows.cuh says; hubs VERTEX (hub_count), empty with ONE_LANE; `noted` is
// 0 before note_hubs.

#include "kernels/layouts/cursor.cuh"
#include "kernels/papers/moschou/passes.cuh"

#define READS_PARAMETERS ROWS_PARAMETERS, const VERTEX *hubs, u64 hub_count
#define READS Reads{make_rows(ROWS_ARGUMENTS), hubs, hub_count}

constexpr u64 UNITS = 8;  // units from which a row is split over the grid, as in afforest_rows.cu

// Calls visit(v, neighbour) for the neighbours that the first lane of a warp decodes.
template <class Visit>
__device__ __forceinline__ void visit_by_one_lane(const Rows& rows, u64 v, Visit visit) {
    Cursor cursor{};
    if (lane_id() == 0) cursor = open_row(rows, VERTEX(v));
    for (bool more = true; more;) {
        VERTEX mine = VERTEX(0);
        u32 count = 0;
        for (; count < WARP; ++count) {
            VERTEX neighbour = VERTEX(0);
            u32 found = lane_id() == 0 && next_neighbour(rows, cursor, neighbour);
            if (!__shfl_sync(ALL_LANES, found, 0)) break;
            neighbour = __shfl_sync(ALL_LANES, neighbour, 0);
            if (lane_id() == count) mine = neighbour;
        }
        if (lane_id() < count) visit(v, mine);
        more = count == WARP;
        __syncwarp();
    }
}

// Calls visit(v, neighbour) for all arcs; all threads of the grid call it.
template <class Visit>
__device__ __forceinline__ void each_neighbour(const Rows& rows, const VERTEX* hubs, u64 hub_count, u64 vertices,
                                               Visit visit) {
    const u64 warp = global_thread() / WARP, warps = global_threads() / WARP;
#if ONE_LANE
    for (u64 v = warp; v < vertices; v += warps) visit_by_one_lane(rows, v, visit);
#else
    for (u64 base = warp * WARP; base < vertices; base += warps * WARP) {
        u64 v = base + lane_id(), units = v < vertices ? row_units(rows, v) : 0;
        visit_units(rows, units ? v : base, 0, units == 1, [&](u32 from, VERTEX neighbour, bool valid) {
            if (valid) visit(base + from, neighbour);
        });
        __syncwarp();
        for (u32 left = __ballot_sync(ALL_LANES, units > 1 && units < UNITS); left; left &= left - 1) {
            u32 from = __ffs(left) - 1;
            u64 own = __shfl_sync(ALL_LANES, units, from);
            for (u64 unit = 0; unit < own; ++unit)
                visit_unit(rows, base + from, unit, [&](VERTEX neighbour, bool valid) {
                    if (valid) visit(base + from, neighbour);
                    return true;
                });
        }
    }
    for (u64 i = 0; i < hub_count; ++i) {
        u64 units = row_units(rows, hubs[i]);
        for (u64 unit = warp; unit < units; unit += warps)
            visit_unit(rows, hubs[i], unit, [&](VERTEX neighbour, bool valid) {
                if (valid) visit(u64(hubs[i]), neighbour);
                return true;
            });
    }
#endif
}

struct Reads {
    Rows rows;
    const VERTEX* hubs;
    u64 hub_count;

    template <class Visit>
    __device__ __forceinline__ void each(u64 vertices, Visit visit) const {
        each_neighbour(rows, hubs, hub_count, vertices, visit);
    }

    __device__ __forceinline__ bool has_arcs(u64 v) const { return row_weight(rows, v) != 0; }

    __device__ __forceinline__ bool first(u64 v, VERTEX& neighbour) const {
        Cursor cursor = open_row(rows, VERTEX(v));
        return next_neighbour(rows, cursor, neighbour);
    }
};

// Before any pass: list the rows that are split over the grid; those beyond `room` are counted alone.
extern "C" __global__ void note_hubs(ROWS_PARAMETERS, u64 vertices, VERTEX* hubs, u64 room, u64* noted) {
    const Rows rows = make_rows(ROWS_ARGUMENTS);
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        if (row_units(rows, v) < UNITS) continue;
        u64 place = atomicAdd(noted, 1ull);
        if (place < room) hubs[place] = VERTEX(v);
    }
}
