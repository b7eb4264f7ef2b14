// BFS on encoded rows, decoded where they are read, in one cooperative launch: what direction_optimizing.cu does with
// columns. measure_rows.cu makes ready what it needs.
//
// Contract. Rows ascend and hold what their layout says; bottom-up levels (`may_pull`) need a symmetric graph
// and first_neighbours. distance i32 (vertices), or keys u64 (vertices), hold -1 or all ones outside `words * 32` before
// the first launch; each launch undoes what the last one left there (`previous`). queue u64 (units of all rows),
// hubs (rows of more than one unit). Block: a multiple of 32. Grid: no more blocks than run at the same time.
// See search.cuh and sources/encoded.cuh for the encodings. Limits in arcs are brought to the layout's weights by `weight_of_arc`.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh with byte_offsets
// variants VERTEX: u32 u64
// variants TREE: 0 32 33

#include "kernels/bfs/cuda/sources/pull_encoded.cuh"
#include "kernels/bfs/cuda/sources/expand_encoded.cuh"
#include "kernels/bfs/cuda/direction_optimizing.cuh"

extern "C" __global__ void __launch_bounds__(MAX_THREADS, 1)
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
