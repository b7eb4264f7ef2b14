// Rows of a deep graph that are encoded; see hops.cuh for what a source says.
//
// Short rows are read from their records, decoded once per graph. Long ones are decoded where they are read; the record
// says how many neighbours they have, which their layout may not know without decoding.

#include "kernels/bfs/cuda/wide.cuh"

// Beside the rows, where each would begin among columns.
#define RECORDS_PARAMETERS ROWS_PARAMETERS, const i64 *row_offsets

__device__ __forceinline__ void fill_record(const Rows& rows, u64 v, i64, u64 degree, VERTEX* record) {
    u64 kept = degree <= WIDTH ? degree : 0;
    Cursor cursor{};
    if (kept) cursor = open_row(rows, v);
    for (u64 k = 0; k < WIDTH; ++k) {
        VERTEX neighbour = NO_VERTEX;
        if (k < kept) next_neighbour(rows, cursor, neighbour);
        record[k] = neighbour;
    }
    if (degree > WIDTH) record[1] = VERTEX(degree < LONGEST ? degree : LONGEST);
}

__device__ __forceinline__ u64 begin_of(const Record&) {
    return 0;
}

__device__ __forceinline__ u64 degree_of(const Graph& g, VERTEX vertex) {
    const VERTEX* record = g.records + u64(vertex) * WIDTH;
    // A vertex without arcs has NO_VERTEX for its degree.
    if (record[0] == NO_VERTEX) return record[1] == NO_VERTEX ? 0 : record[1];
    u32 degree = 1;
    while (degree < WIDTH && record[degree] != NO_VERTEX) ++degree;
    return degree;
}

__device__ __forceinline__ void read_row(const Graph& g, VERTEX vertex, bool valid, i64& begin, u64& degree) {
    begin = 0;
    degree = valid ? degree_of(g, vertex) : 0;
}

// Decode a row into `room` slots, with NO_VERTEX behind its neighbours; all lanes call it.
__device__ __forceinline__ void decode_row(Rows rows, VERTEX vertex, VERTEX* slots, u32 room) {
    u64 units = row_units(rows, vertex);
    u32 count = 0;
    for (u64 unit = 0; unit < units && count < room; ++unit)
        visit_unit(rows, vertex, unit, [&](VERTEX neighbour, bool valid) {
            u32 lanes = __ballot_sync(ALL_LANES, valid), place = count + __popc(lanes & lanes_below());
            if (valid && place < room) slots[place] = neighbour;
            count += __popc(lanes);
            return count < room;
        });
    for (u32 place = count + lane_id(); place < room; place += WARP) slots[place] = NO_VERTEX;
}

__device__ __forceinline__ void fill_entries(const Graph& g, const Entries& next, u32 base, u32 mine, u32 upto, u32,
                                             i64, u64 degree, VERTEX vertex, VERTEX parent) {
    u32 first = base + upto - mine;
    if (mine && degree <= WIDTH) {
        next.records[first] = reinterpret_cast<const Record*>(g.records)[vertex];
        next.ids[first] = Ids{vertex, parent};
    }
    u32 rows = __ballot_sync(ALL_LANES, mine && degree > WIDTH);
    while (rows) {
        u32 from = take_lowest(rows);
        u32 place = __shfl_sync(ALL_LANES, first, from), entries = __shfl_sync(ALL_LANES, mine, from);
        Ids ids{__shfl_sync(ALL_LANES, vertex, from), __shfl_sync(ALL_LANES, parent, from)};
        decode_row(g.rows, ids.vertex, reinterpret_cast<VERTEX*>(next.records + place), entries * WIDTH);
        for (u32 i = lane_id(); i < entries; i += WARP) next.ids[place + i] = ids;
    }
}

__device__ __forceinline__ void take_rows(const Graph& g, VERTEX vertex, i64, u32 degree, VERTEX* found, u64* tail, u32 depth) {
    for (u32 k = 0; k < WIDTH; ++k) {
        bool valid = degree <= WIDTH && k < degree;
        if (!__any_sync(ALL_LANES, valid)) break;
        VERTEX end = valid ? g.records[u64(vertex) * WIDTH + k] : VERTEX(0);
        append(found, tail, valid && claim_new(g, end, vertex, depth), end);
    }
    u64 units = degree > WIDTH ? row_units(g.rows, vertex) : 0;
    for (u64 unit = 0; __any_sync(ALL_LANES, unit < units); ++unit)
        visit_units(g.rows, vertex, unit, unit < units, [&](u32 lane, VERTEX end, bool valid) {
            VERTEX owner = __shfl_sync(ALL_LANES, vertex, lane);
            append(found, tail, valid && claim_new(g, end, owner, depth), end);
        });
}

__device__ __forceinline__ void take_row(const Graph& g, VERTEX owner, u64 thread, u64 threads, VERTEX* found, u64* tail,
                                         u32 depth) {
    u64 units = row_units(g.rows, owner);
    for (u64 unit = thread / WARP; unit < units; unit += threads / WARP)
        visit_unit(g.rows, owner, unit, [&](VERTEX end, bool valid) {
            append(found, tail, valid && claim_new(g, end, owner, depth), end);
            return true;
        });
}
