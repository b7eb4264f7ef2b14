// What a search of encoded rows is made ready with; see direction_optimizing_encoded.cu.
//
// Contract. Rows ascend and hold what their layout says. first_neighbours VERTEX (last, 2), planes VERTEX (plane_count,
// last, IN_PLANE); closed u32 (last / 32), last a multiple of 32. totals u64 (5), zero before: units, weight, rows of
// more than one unit, the last vertex that has arcs + 1, rows that have arcs. Block: a multiple of 32.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh with byte_offsets
// variants VERTEX: u32 u64

#include "kernels/layouts/cursor.cuh"

constexpr VERTEX NO_VERTEX = VERTEX(~VERTEX(0));
constexpr u32 IN_PLANE = 8;  // neighbours of a vertex in a plane, as in pull.cuh

// The first two neighbours of every vertex below `last` and the next ones in planes, if `first_neighbours` is not null,
// the vertices without any, and sums over all rows.
extern "C" __global__ void measure_rows(ROWS_PARAMETERS, u64 vertices, u64 last, u64 plane_count, VERTEX* first_neighbours,
                                        VERTEX* planes, u32* closed, u64* totals) {
    Rows rows = make_rows(ROWS_ARGUMENTS);
    u64 units = 0, weight = 0, hubs = 0, upto = 0, linked = 0;
    for (u64 v = global_thread(); v < last; v += global_threads()) {
        u64 own = v < vertices ? row_units(rows, v) : 0;
        if (own) {
            units += own;
            weight += row_weight(rows, v);
            hubs += own > 1;
            upto = v + 1;
            ++linked;
        }
        if (first_neighbours) {
            Cursor cursor{};
            bool more = own != 0;
            if (more) cursor = open_row(rows, VERTEX(v));
            for (u64 k = 0; k < 2 + plane_count * IN_PLANE; ++k) {
                VERTEX read = NO_VERTEX;
                more = more && next_neighbour(rows, cursor, read);
                if (!more) read = NO_VERTEX;
                u64 place = k - 2;
                VERTEX* to = k < 2 ? &first_neighbours[2 * v + k] : &planes[(place / IN_PLANE * last + v) * IN_PLANE + place % IN_PLANE];
                *to = read;
            }
        }
        u32 none = __ballot_sync(ALL_LANES, own == 0);
        if (lane_id() == 0) closed[v / 32] = none;
    }
    units = warp_sum(units);
    weight = warp_sum(weight);
    hubs = warp_sum(hubs);
    linked = warp_sum(linked);
    for (u32 step = WARP / 2; step; step /= 2) {
        u64 theirs = __shfl_xor_sync(ALL_LANES, upto, step);
        upto = theirs > upto ? theirs : upto;
    }
    if (lane_id() == 0 && units) {
        atomicAdd(&totals[0], units);
        atomicAdd(&totals[1], weight);
        atomicAdd(&totals[2], hubs);
        atomicMax(&totals[3], upto);
        atomicAdd(&totals[4], linked);
    }
}
