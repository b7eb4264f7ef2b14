// BFS over rows in host memory that the device reads over its link, in one cooperative launch; see host_rows.cuh for
// what it keeps, and sources/host_columns.cuh and sources/host_encoded.cuh for how rows are read. Levels go top-down,
// or, with heads, in the direction that reads less (Beamer, Asanovic, Patterson, SC 2012, for the two directions).
//
// Contract. What `kernels/bfs/cuda/host_rows.py` makes lies on the device, but for columns or a stream, which may lie in
// pinned host memory. `kept` and what goes with it are lines that the device has. `closed`, `heads` and `waiting` are
// null, and `head_count` 0, where levels go top-down alone. Block: a multiple of 32. Grid: no more blocks than run at
// the same time.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh
// variants VERTEX: u32 u64
// variants TREE: 0 32 33

#include "kernels/bfs/cuda/host_steps.cuh"

#if IS_COLUMNS(LAYOUT)
#include "kernels/bfs/cuda/sources/host_columns.cuh"
#else
#include "kernels/bfs/cuda/sources/host_encoded.cuh"
#endif

// Words of `log`: levels, lines read from host memory, lines read from those that the device keeps; then one word
// per level, 1 where it went bottom-up.
constexpr u32 LOG_LEVELS = 0, LOG_HOST = 1, LOG_KEPT = 2, LOG_FIRST = 3;

extern "C" __global__ void __launch_bounds__(MAX_THREADS, 2)
    search(SOURCE_PARAMETERS, const VERTEX* kept, const u32* kept_lines, const u32* kept_before, HEADS_PARAMETERS,
           u32* visited, u32* frontier, u32* next, u32* waiting, u32* lines, i32* distance, u64* keys, i64* predecessor,
           u64* control, u64* log, u64* arrivals, SIZES_PARAMETERS, u64 head_count, double alpha, u64 max_depth,
           u64 logged, u64 source) {
    __shared__ Counted counted;
    const Source rows = SOURCE;
    u64 weight = rows.weight(vertices);
    HostRows s{rows.row_offsets, rows.columns, rows.first_rows, kept, kept_lines, kept_before, heads, closed, visited,
               frontier, next, waiting, lines, distance, keys, control, vertices, (vertices + 31) / 32, weight,
               (weight + SPAN - 1) / SPAN, u32(head_count)};
    Steps steps{s, counted, control, arrivals};
    if (blockIdx.x == 0)
        for (u32 i = threadIdx.x; i < SIDES * CONTROL_WORDS; i += blockDim.x) control[i] = 0;
    begin_search(s, source);
    steps.end();

    u64 found = 1, unseen = weight, level = 0, host = 0, held = 0;
    u64 frontier_weight = u64(s.row_offsets[source + 1] - s.row_offsets[source]);
    while (found && level < max_depth) {
        unseen = unseen > frontier_weight ? unseen - frontier_weight : 0;
        bool pulls = s.head_count && double(frontier_weight) * alpha > double(unseen);
        if (global_thread() == 0 && level < logged) log[LOG_FIRST + level] = pulls;
        u32 depth = u32(level) + 1;
        if (pulls)
            look_at_heads(s, rows, depth);
        else
            mark_frontier(s);
        steps.end();
        read_level(steps, rows, pulls, depth, host, held);
        turn(s);
        rows.end_level(s);
        steps.end();
        found = counted.found;
        frontier_weight = counted.arcs;
        ++level;
    }
    write_wide(s.keys, s.distance, predecessor, s.vertices);
    if (global_thread() == 0) {
        log[LOG_LEVELS] = level;
        log[LOG_HOST] = host;
        log[LOG_KEPT] = held;
    }
}
