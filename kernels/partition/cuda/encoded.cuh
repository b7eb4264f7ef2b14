// Visits of subgraphs whose rows are encoded (kernels/layouts/rows.cuh): the same as in forward.cuh and backward.cuh,
// but that rows are read in units, which are decoded as they are read. A part of a row, where that is shared, is the
// units that begin in the same part of its arcs.

#include "kernels/layouts/cursor.cuh"
#include "kernels/partition/cuda/by_length.cuh"
#include "kernels/partition/cuda/reach.cuh"

constexpr u32 CURSOR_TRIES = 8;  // neighbours that a lane checks before the warp takes its row

// The units of row v that belong to its arcs from `from` on, of `length`; those of all its parts are all its units.
__device__ __forceinline__ u64 unit_at(u64 units, u64 from, u64 length) { return length ? from * units / length : 0; }

// What a visit of a subgraph does with a neighbour that `owner` has; whole warps call it.
__device__ __forceinline__ void reach(const World& w, const Rank& r, u32 reading, u32* found, bool live, VERTEX neighbour,
                                      u64 owner) {
    if (reading == READ_NN) {
        const bool lives[1] = {live};
        const VERTEX vertex[1] = {neighbour};
        const u32 owners[1] = {u32(owner)};
        reach_normals<false>(w, r, lives, vertex, owners);
    } else if (live && reading == READ_ND)
        claim_delegate(r, found, neighbour, vertex_of(r, u32(owner), w.rank_count));
    else if (live && reading == READ_DN)
        claim_normal(r, neighbour, w.delegates[owner]);
    else if (live)
        claim_delegate(r, found, neighbour, w.delegates[owner]);
}

// Go through a queue: rows of one unit 32 side by side, others a unit at a time. One function for both subgraphs,
// since decoders are long, and are compiled wherever they are called.
__device__ __noinline__ void visit_queue(const World& w, const Rank& r, u32 reading, u64 count, u32* found) {
    const Rows& rows = *(reading == READ_NN ? r.nn_columns.rows : r.nd_columns.rows);
    for (u64 base = global_thread() - lane_id(); base < count; base += global_threads()) {
        u64 i = base + lane_id(), v = 0, last = 0;
        if (i < count) {
            v = reading == READ_NN ? r.nn_queue[i] : r.nd_queue[i];
            last = row_units(rows, v);
        }
        visit_units(rows, v, 0, last == 1, [&](u32 lane, VERTEX neighbour, bool valid) {
            reach(w, r, reading, found, valid, neighbour, __shfl_sync(ALL_LANES, v, lane));
        });
        u32 longer = __ballot_sync(ALL_LANES, last > 1);
        while (longer) {
            u32 lane = __ffs(longer) - 1;
            longer &= longer - 1;
            u64 of = __shfl_sync(ALL_LANES, v, lane), end = __shfl_sync(ALL_LANES, last, lane);
            for (u64 unit = 0; unit < end; ++unit)
                visit_unit(rows, of, unit, [&](VERTEX neighbour, bool valid) {
                    reach(w, r, reading, found, valid, neighbour, of);
                    return true;
                });
        }
    }
}

// Arcs that are encoded have no places of their own.
__device__ __forceinline__ void visit_all_nn(const World&, const Rank&) {}

__device__ __forceinline__ void visit_nn(const World& w, const Rank& r, BlockRow&, u64 count) {
    visit_queue(w, r, READ_NN, count, nullptr);
}

__device__ __forceinline__ void visit_nd(const World& w, const Rank& r, BlockRow&, u64 count, u32* found) {
    visit_queue(w, r, READ_ND, count, found);
}

// Rows of delegates that are queued, a tile of their arcs at a time.
__device__ __noinline__ void visit_merged(const World& w, const Rank& r, u32 reading, u64 tail, u32* found) {
    bool dn = reading == READ_DN;
    const Rows& rows = *(dn ? r.dn_columns.rows : r.dd_columns.rows);
    const OFFSET* offsets = dn ? r.dn_offsets : r.dd_offsets;
    const u32* queue = dn ? r.dn_queue : r.dd_queue;
    const u64* starts = dn ? r.dn_starts : r.dd_starts;
    u64 count = tail >> MERGE_BITS, arcs = tail & MERGE_ARCS;
    for (u64 first = global_thread() / WARP * TILE; first < arcs; first += global_threads() / WARP * TILE) {
        u64 last = first + TILE < arcs ? first + TILE : arcs;
        for (u64 i = row_of_arc(starts, count, first); i < count && starts[i] < last; ++i) {
            u64 d = queue[i], begin = starts[i];
            u64 length = offsets[d + 1] - offsets[d], units = row_units(rows, d);
            u64 from = first > begin ? first - begin : 0, upto = last - begin < length ? last - begin : length;
            u64 end = unit_at(units, upto, length);
            for (u64 unit = unit_at(units, from, length); unit < end; ++unit)
                visit_unit(rows, d, unit, [&](VERTEX neighbour, bool valid) {
                    reach(w, r, reading, found, valid, neighbour, d);
                    return true;
                });
        }
    }
}

__device__ __forceinline__ void visit_dn(const World& w, const Rank& r, u64 tail) { visit_merged(w, r, READ_DN, tail, nullptr); }

__device__ __forceinline__ void visit_dd(const World& w, const Rank& r, u64 tail, u32* found) {
    visit_merged(w, r, READ_DD, tail, found);
}

__device__ __noinline__ u32 first_of_row(bool asked, u64 row, const OFFSET* offsets, Columns<u32> columns,
                                       const u32* seen) {
    const Rows& rows = *columns.rows;
    bool open = asked && offsets[row] != offsets[row + 1];
    u32 hit = NONE;
    if (open) {
        Cursor cursor = open_row(rows, row);
        for (u32 tries = 0; tries < CURSOR_TRIES && open && hit == NONE; ++tries) {
            VERTEX neighbour = VERTEX(0);
            if (!next_neighbour(rows, cursor, neighbour)) {
                open = row_units(rows, row) > 1;
                break;
            }
            if (test_bit(seen, neighbour)) hit = neighbour;
        }
    }
    u32 left = __ballot_sync(ALL_LANES, open && hit == NONE);
    while (left) {
        u32 lane = __ffs(left) - 1, result = NONE;
        left &= left - 1;
        u64 v = __shfl_sync(ALL_LANES, row, lane), units = row_units(rows, v);
        bool goes_on = true;
        for (u64 unit = 0; unit < units && goes_on; ++unit)
            goes_on = visit_unit(rows, v, unit, [&](VERTEX neighbour, bool valid) {
                u32 hits = __ballot_sync(ALL_LANES, valid && test_bit(seen, neighbour));
                if (hits) result = __shfl_sync(ALL_LANES, neighbour, __ffs(hits) - 1);
                return !hits;
            });
        if (lane_id() == lane) hit = result;
    }
    return hit;
}

// Two rows of each lane; those that are not asked for have NONE for a row. First columns are not kept apart.
__device__ __forceinline__ void later_seen(const u32 (&row)[2], const OFFSET* offsets, Columns<u32> columns,
                                           const u32* seen, u32 (&hit)[2]) {
#pragma unroll
    for (u32 k = 0; k < 2; ++k) {
        bool asked = row[k] != NONE;
        hit[k] = __any_sync(ALL_LANES, asked) ? first_of_row(asked, row[k], offsets, columns, seen) : NONE;
    }
}
