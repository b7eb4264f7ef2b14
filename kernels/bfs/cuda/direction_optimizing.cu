// Direction-optimizing BFS in one cooperative launch: the level loop and the choice of direction are on the
// device (Beamer, Asanovic, Patterson, SC 2012, for the two directions; the rest is gravel's).
//
// Contract. row_offsets i64 (vertices + 1), columns VERTEX sorted by row; bottom-up levels need a symmetric
// graph. distance i32 (vertices), or keys u64 (vertices), hold -1 or all ones outside `words * 32` before
// the first launch; each launch undoes what the last one left there (`previous`). Block: a multiple of 32.
// Grid: no more blocks than run at the same time. See search.cuh and
// sources/columns.cuh for the encodings.
//
// variants VERTEX: u32 u64
// variants TREE: 0 32 33
// variants DEFER_ROWS: 1 0

#include "kernels/bfs/cuda/sources/pull_columns.cuh"
#include "kernels/bfs/cuda/sources/expand_columns.cuh"
#include "kernels/bfs/cuda/direction_optimizing.cuh"

constexpr u64 UNEVEN = 1024;  // arcs by which a block of the team may be behind the others

extern "C" __global__ void __launch_bounds__(MAX_THREADS, 1)
    search(const i64* row_offsets, const VERTEX* columns, const VERTEX* first_neighbours, const VERTEX* planes, const u32* closed,
           u32* bitmaps,
           i32* distance, u64* keys, i64* predecessor, u64* queue, VERTEX* owners, VERTEX* hubs, u64* control, u64* counts, u64* log,
           u64* arrivals, u64 vertices, u64 words, u64 candidates, u64 arcs, u64 may_pull, u64 max_depth, double alpha,
           double beta, double floor, double unqueued_from, u64 patience, u64 team_blocks, u64 team_capacity, u64 team_limit, u64 room,
           double words_per_unvisited, u64 plane_count, u64 arcs_kept, u64 source, u64 previous) {
    __shared__ Progress p;
    Search s{{row_offsets, columns}, first_neighbours, planes, u32(plane_count), u32(arcs_kept), closed, bitmaps, bitmaps + words, distance, keys,
             {queue, owners}, hubs, control, 0, 0, vertices, words};
    Tuning tuning{candidates, arcs, may_pull != 0, u32(max_depth), u32(patience), alpha, beta, floor, unqueued_from, 1.0,
                  team_blocks, team_capacity, team_limit, UNEVEN, room, words_per_unvisited};
    run(s, p, tuning, {bitmaps, control, counts, log, arrivals}, predecessor, source, previous);
}

// Before any search: the first two neighbours of every vertex below `last`, the next ones in planes, and the
// vertices without any.
extern "C" __global__ void find_first_neighbours(const i64* row_offsets, const VERTEX* columns, u64 vertices, u64 last,
                                      u64 plane_count, VERTEX* first_neighbours, VERTEX* planes, u32* closed) {
    for (u64 v = global_thread(); v < last; v += global_threads()) {
        i64 first = v < vertices ? row_offsets[v] : 0, degree = v < vertices ? row_offsets[v + 1] - first : 0;
        first_neighbours[2 * v] = degree > 0 ? columns[first] : NO_VERTEX;
        first_neighbours[2 * v + 1] = degree > 1 ? columns[first + 1] : NO_VERTEX;
        for (u64 k = 0; k < plane_count * IN_PLANE; ++k) {
            i64 place = 2 + i64(k);
            planes[(k / IN_PLANE * last + v) * IN_PLANE + k % IN_PLANE] =
                place < degree ? columns[first + place] : NO_VERTEX;
        }
        u32 none = __ballot_sync(ALL_LANES, degree == 0);
        if (lane_id() == 0) closed[v / 32] = none;
    }
}
