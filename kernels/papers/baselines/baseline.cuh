// What the baseline strategies share: the graph with its labels, and the claim of a neighbour.
//
// Counters. A level that fills a queue counts in its own of ROUNDS copies, which is read after the barrier
// that ends it and zeroed in the level before it is used again, when no block can still be reading it. So
// one barrier a level is enough.

#include "kernels/bfs/cuda/labels.cuh"

constexpr u32 ROUNDS = 3;
constexpr u32 COUNTER_WORDS = 32;  // of one copy; what different blocks add to has a cache line of its own

struct Graph {
    const i64* row_offsets;
    const VERTEX* __restrict__ columns;
    i32* distance;
    u64* keys;
};

// Set every label but the source's to unreached, and zero the log.
__device__ __forceinline__ void begin_search(const Graph& g, u64* log, u64 logged, u64 vertices, u64 source) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        if (TREE)
            g.keys[v] = v == source ? make_key(0, NO_PREDECESSOR) : UNREACHED;
        else
            g.distance[v] = v == source ? 0 : -1;
    }
    for (u64 i = global_thread(); i < logged; i += global_threads()) log[1 + i] = 0;
}

// Offer a label to a vertex: true for the one thread that reaches it first. A label read from a stale cache
// line is larger than the true one, and then the atomic decides.
__device__ __forceinline__ bool claim(const Graph& g, VERTEX vertex, VERTEX predecessor, u32 depth) {
    if (TREE) {
        u64 key = make_key(depth, predecessor);
        return g.keys[vertex] > key && atomicMin(&g.keys[vertex], key) == UNREACHED;
    }
    return g.distance[vertex] == -1 && atomicCAS(&g.distance[vertex], -1, i32(depth)) == -1;
}

// The thread reads row [begin, end) of a vertex alone, and hands the neighbours that it reaches first to `put`.
template <class Put>
__device__ __forceinline__ void expand_row(const Graph& g, VERTEX vertex, i64 begin, i64 end, u32 depth, const Put& put) {
    for (i64 k = begin; k < end; ++k) {
        VERTEX neighbour = g.columns[k];
        if (claim(g, neighbour, vertex, depth)) put(neighbour);
    }
}

// Add the arcs that the lanes of a warp gathered in a level; all lanes call it.
__device__ __forceinline__ void log_arcs(u64* log, u64 logged, u32 level, u64 arcs) {
    if (!logged) return;
    arcs = warp_sum(arcs);
    if (lane_id() == 0 && arcs) atomicAdd(&log[1 + (level < logged ? level : logged - 1)], arcs);
}
