// BFS on rows in any layout of kernels/layouts, decoded where they are read, in one cooperative launch. The
// level loop and the choice of direction are on the device, as in kernels/bfs/direction_optimizing.cu.
//
// Contract. Rows ascend and hold what their layout says; bottom-up levels (`may_pull`) need a symmetric graph
// and first_neighbours. distance i32 (vertices), or keys u64 (vertices), hold -1 or all ones outside `words * 32` before
// the first launch; each launch undoes what the last one left there (`previous`). queue u64 (units of all rows),
// hubs (rows of more than one unit). Block: a multiple of 32. Grid: no more blocks than run at the same time.
// See search.cuh and sources/encoded.cuh for the encodings. Limits in arcs are brought to the layout's weights by `weight_of_arc`.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh
// variants VERTEX: u32 u64
// variants TREE: 0 32 33
// variants ONE_LANE: 0 1

#include "kernels/bfs/sources/pull_encoded.cuh"
#include "kernels/bfs/sources/expand_encoded.cuh"
#include "kernels/bfs/level_loop.cuh"

extern "C" __global__ void __launch_bounds__(MOST_THREADS, 1)
    search(ROWS_PARAMETERS, const VERTEX* first_neighbours, const VERTEX* planes, const u32* closed, u32* bitmaps, i32* distance, u64* keys,
           i64* predecessor, u64* queue, VERTEX* hubs, u64* control, u64* counts, u64* log, u64* arrivals, u64 vertices,
           u64 words, u64 candidates, u64 weight, u64 may_pull, u64 max_depth, double alpha, double beta, double floor,
           double unqueued_from, double weight_of_arc, u64 patience, u64 team_blocks, u64 team_capacity, u64 team_limit,
           u64 team_uneven, u64 room, double words_per_unvisited, u64 plane_count, u64 source, u64 previous) {
    __shared__ Progress p;
    Search s{make_rows(ROWS_ARGUMENTS), first_neighbours, planes, u32(plane_count), 0, closed, bitmaps, bitmaps + words, distance, keys,
             {queue, nullptr}, hubs, control, 0, 0, vertices, words};
    Tuning tuning{candidates, weight, may_pull != 0, u32(max_depth), u32(patience), alpha, beta, floor, unqueued_from,
                  weight_of_arc, team_blocks, team_capacity, team_limit, team_uneven, room, words_per_unvisited,
                  team_blocks * team_capacity};
    run(s, p, tuning, {bitmaps, control, counts, log, arrivals}, predecessor, source, previous);
}

// Before any search: the first two neighbours of every vertex below `last` and the next ones in planes (if `first_neighbours`
// is not null), the vertices without any, and sums over all rows. totals: units, weight, rows of more than one unit, the last vertex that
// has arcs + 1, rows that have arcs.
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
