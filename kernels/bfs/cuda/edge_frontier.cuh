// Searches whose edge frontier goes through global memory, in one cooperative launch. Per level, the arcs gathered
// last are filtered (contracted) and the neighbours of what is left are gathered (expanded): in one step, with one
// barrier (FUSES), or in two with the vertex queue between them (SPLITS); with both, in one up to `crowd` arcs per
// resident thread. Who includes this defines FUSES and SPLITS, and BOUND, the threads of a block that registers suffice for.
//
// Contract. row_offsets i64 (vertices + 1), columns VERTEX. vertex_queue VERTEX, edge_queue and (if TREE)
// parent_queue VERTEX, with room for `vertex_room` and `edge_room` entries (vertices and arcs suffice; see
// frontier_queues.cuh); bitmask u32 (vertices / 32, rounded up), control u64 (CONTROL_WORDS). `gather` is a GatherName,
// `parts` are LookUp parts, `steals` is 0 or 1, `least` the items that a tile has at least. Dynamic shared
// memory as in parts.py. Block: a multiple of 32, at most 512. Grid: no more blocks than run at the same time.
//
// variants VERTEX: u32 u64
// variants TREE: 0 32 33
// variants RUNS: 0 1

#include "kernels/bfs/cuda/frontier_queues.cuh"

struct Job {
    u64 source, max_depth;
    u64 split_above;  // arcs of a level
    u64 logged;
    u64 *log, *arrivals;
    i64* predecessor;
};

__device__ __forceinline__ void log_level(const Job& job, u32 level, u64 arcs) {
    if (!job.logged || global_thread()) return;
    u64 cell = 1 + (level < job.logged ? level : job.logged - 1);
    job.log[cell] = arcs + (level < job.logged ? 0 : job.log[cell]);
}

__device__ __forceinline__ void search_edges(Search& s, const Job& job, Shared& shared) {
    begin_labels(s, job.source);
    i64 row = s.row_offsets[job.source];
    u64 first = 0;
    s.edges.end = job.max_depth ? u64(s.row_offsets[job.source + 1] - row) : 0;
    for (u64 i = global_thread(); i < s.edges.end; i += global_threads()) {
        s.edges.items[i] = s.columns[row + i64(i)];
        if (TREE) s.edges.parents[i] = VERTEX(job.source);
    }
    u32 levels = job.max_depth ? 1 : 0;
    if (levels) log_level(job, 0, s.edges.end);
    grid_barrier(job.arrivals);

    for (u32 depth = 1; first < s.edges.end; ++depth) {
        bool deeper = depth < job.max_depth, found;
        u64 last = s.edges.end;
        if (FUSES && (!SPLITS || last - first <= job.split_above)) {
            contract_expand(s, first, last, depth, deeper, shared);
            grid_barrier(job.arrivals);
            found = load_relaxed(&s.control[DEEPEST]) >= depth;
            s.edges.end = end_of(s, s.edges);
        } else {
            contract(s, first, last, depth, shared);
            grid_barrier(job.arrivals);
            u64 begin = s.vertices.end;
            s.vertices.end = end_of(s, s.vertices);
            if (was_full(s)) {
                begin = s.vertices.end;
                refill_vertices(s, depth, shared);
                grid_barrier(job.arrivals);
                s.vertices.end = end_of(s, s.vertices);
            }
            found = begin < s.vertices.end;
            if (found && deeper) {
                expand(s, begin, s.vertices.end, shared);
                grid_barrier(job.arrivals);
                s.edges.end = end_of(s, s.edges);
            }
        }
        if (!found) break;
        first = last;
        if (deeper) {
            ++levels;
            log_level(job, depth, s.edges.end - first);
        }
        if (was_full(s)) {
            first = s.edges.end;
            refill_edges(s, depth, shared);
            grid_barrier(job.arrivals);
            s.edges.end = end_of(s, s.edges);
        }
    }
    if (global_thread() == 0) job.log[0] = levels;
    write_wide(s.status.keys, s.status.distance, job.predecessor, s.count);
}

extern __shared__ u64 arena[];

extern "C" __global__ void __launch_bounds__(BOUND, SLIM ? 2 : 1)
    search(const i64* row_offsets, const VERTEX* columns, i32* distance, u64* keys, i64* predecessor,
           VERTEX* vertex_queue, VERTEX* edge_queue, VERTEX* parent_queue, u32* bitmask, u64* control,
           u64 vertex_room, u64 edge_room, u64 gather, u64 parts, u64 steals, u64 least, double crowd, u64* log,
           u64* arrivals, u64 vertices, u64 max_depth, u64 logged, u64 source) {
    __shared__ Shared shared;
    Search s = make_search(row_offsets, columns, {bitmask, distance, keys}, vertex_queue, vertex_room, control, gather,
                           parts, steals, least, vertices);
    s.edges = {edge_queue, parent_queue, edge_room, EDGES};
    share_out(s, shared, arena, 0);
    u64 split_above = FUSES && SPLITS ? u64(crowd * double(global_threads())) : 0;
    search_edges(s, {source, max_depth, split_above, logged, log, arrivals, predecessor}, shared);
}
