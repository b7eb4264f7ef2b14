// Contract-expand BFS (Merrill, Garland, Grimshaw, PPoPP 2012, section 5.2): the queue holds the edge frontier.
// Per level one step filters it and gathers the neighbours of what is left into the next edge queue; vertices
// go through no queue. One cooperative launch, with the level loop on the device.
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

#include "kernels/bfs/edge_frontier.cuh"

extern __shared__ u64 arena[];

// The bounds leave 48 registers to a thread.
extern "C" __global__ void __launch_bounds__(640, SLIM ? 2 : 1)
    search(const i64* row_offsets, const VERTEX* columns, i32* distance, u64* keys, i64* predecessor,
           VERTEX* vertex_queue, VERTEX* edge_queue, VERTEX* parent_queue, u32* bitmask, u64* control,
           u64 vertex_room, u64 edge_room, u64 gather, u64 parts, u64 steals, u64 least, u64* log,
           u64* arrivals, u64 vertices, u64 max_depth, u64 logged, u64 source) {
    __shared__ Shared shared;
    Search s{row_offsets, columns};
    s.status = {bitmask, distance, keys};
    s.edges = {edge_queue, parent_queue, edge_room, EDGES};
    s.vertices = {vertex_queue, nullptr, vertex_room, VERTICES};
    s.control = control;
    s.way = gather_way(u32(gather));
    s.parts = u32(parts);
    s.steals = steals != 0;
    s.least = u32(least);
    s.count = vertices;
    share_out(s, shared, arena, 0);
    search_edges<true, false>(s, {source, max_depth, 0, logged, log, arrivals, predecessor}, shared);
}
