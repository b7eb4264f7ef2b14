// BFS over rows in host memory that the device reads over its link, in one cooperative launch; see
// host_rows.cuh for what it keeps and lines.cuh for how rows are read. Levels go top-down, or, with heads, in the
// direction that reads less (Beamer, Asanovic, Patterson, SC 2012, for the two directions).
//
// Contract. row_offsets i64 (vertices + 1) and all that `kernels/bfs/cuda/host_rows.py` makes lie on the device;
// columns VERTEX, sorted by row, may lie in pinned host memory. `closed`, `heads` and `waiting` are null, and
// `head_count` 0, where levels go top-down alone. Block: a multiple of 32. Grid: no more blocks than run at the
// same time.
//
// variants VERTEX: u32 u64
// variants TREE: 0 32 33

#include "kernels/bfs/lines.cuh"
#include "kernels/bfs/host_steps.cuh"

// Words of `log`: levels, lines read from host memory, lines read from those that the device keeps; then one word
// per level, 1 where it went bottom-up.
constexpr u32 LOG_LEVELS = 0, LOG_HOST = 1, LOG_KEPT = 2, LOG_FIRST = 3;

extern "C" __global__ void __launch_bounds__(512, 2)
    search(const i64* row_offsets, const VERTEX* columns, const VERTEX* first_rows, const VERTEX* kept,
           const u32* kept_lines, const u32* kept_before, const VERTEX* heads, const u32* closed, u32* visited,
           u32* frontier, u32* next, u32* waiting, u32* lines, i32* distance, u64* keys, i64* predecessor,
           u64* control, u64* log, u64* arrivals, u64 vertices, u64 arcs, u64 head_count, double alpha, u64 max_depth,
           u64 logged, u64 source) {
    __shared__ Counted counted;
    HostRows s{row_offsets, columns, first_rows, kept, kept_lines, kept_before, heads, closed, visited, frontier,
               next, waiting, lines, distance, keys, control, vertices, (vertices + 31) / 32, arcs,
               (arcs + SPAN - 1) / SPAN, u32(head_count)};
    u32 step = 0;
    if (blockIdx.x == 0)
        for (u32 i = threadIdx.x; i < SIDES * CONTROL_WORDS; i += blockDim.x) control[i] = 0;
    begin_search(s, source);
    end_step(s, counted, control, arrivals, step);

    u64 found = 1, unseen = arcs, level = 0, host = 0, held = 0;
    u64 frontier_arcs = u64(row_offsets[source + 1] - row_offsets[source]);
    while (found && level < max_depth) {
        unseen = unseen > frontier_arcs ? unseen - frontier_arcs : 0;
        bool pulls = s.head_count && double(frontier_arcs) * alpha > double(unseen);
        if (global_thread() == 0 && level < logged) log[LOG_FIRST + level] = pulls;
        u32 depth = u32(level) + 1;
        if (pulls)
            look_at_heads(s, depth);
        else
            mark_frontier(s);
        end_step(s, counted, control, arrivals, step);
        for (Reach reach; counted.last_word;) {
            u64 first = counted.first_word, last = counted.last_word, marked = counted.marked + counted.kept;
            host += counted.marked;
            held += counted.kept;
            u32 width = ticket_width(last - first, marked);
            if (pulls)
                pull_lines(s, &s.control[TICKET], first, last, width, 0, depth, reach);
            else
                push_lines(s, &s.control[TICKET], first, last, width, 0, depth);
            end_step(s, counted, control, arrivals, step);
            if (!pulls) break;
            reach.grow(marked);
            wait_on(s, reach);
            end_step(s, counted, control, arrivals, step);
        }
        turn(s);
        end_step(s, counted, control, arrivals, step);
        found = counted.found;
        frontier_arcs = counted.arcs;
        ++level;
    }
    write_wide(s.keys, s.distance, predecessor, s.vertices);
    if (global_thread() == 0) {
        log[LOG_LEVELS] = level;
        log[LOG_HOST] = host;
        log[LOG_KEPT] = held;
    }
}
