// Levels that are too wide for a block group: the whole grid takes one at a time, from a queue in global memory.
//
// A wide level begins with all labels up to its depth exact and none deeper. After a block group that went further in
// parts, `restore` makes that so: it takes deeper labels back and enqueues the vertices at the depth itself.
// Each step counts in a copy of `control` of its own, which is zeroed two steps before: then no block can be
// reading it still.

#include "kernels/bfs/cuda/hops.cuh"
#include "kernels/cuda/lanes.cuh"

constexpr u32 LONG_ROW = 1024;     // arcs; longer rows are listed, and a block goes through each,
constexpr u64 HUGE_ROW = 1 << 17;  // or the whole grid
enum Control : u32 { FOUND = 0, LISTED = 16, HUGE = 32, CONTROL_WORDS = 48 };
constexpr u32 SIDES = 4;

struct Wide {
    VERTEX* queue;  // (vertices)
    VERTEX* listed;  // (arcs / LONG_ROW + 1), and behind them (arcs / HUGE_ROW + 1)
    u64 huge;        // where those begin
    u64* control;   // (SIDES, CONTROL_WORDS)
    u64* arrivals;
    u32 step;
    u64 first, count;  // of the frontier in the queue
};

__device__ __forceinline__ u64* begin_step(Wide& w) {
    ++w.step;
    if (global_thread() == 0) {
        u64* later = w.control + (w.step + 2) % SIDES * CONTROL_WORDS;
        later[FOUND] = later[LISTED] = later[HUGE] = 0;
    }
    return w.control + w.step % SIDES * CONTROL_WORDS;
}

// Whether this arc lowers a label. Most arcs lead back, and a plain read is enough to see that: it can only be too
// deep.
__device__ __forceinline__ bool claim_new(const Graph& g, VERTEX vertex, VERTEX parent, u32 depth) {
    if (TREE ? g.keys[vertex] <= make_key(depth, parent) : u32(g.distance[vertex]) <= depth) return false;
    return deeper(exchange_label(g, vertex, parent, depth), depth);
}

__device__ __forceinline__ void restore(const Graph& g, Wide& w, u32 depth) {
    grid_barrier(w.arrivals);
    u64* counts = begin_step(w);
    for (u64 base = global_thread() - lane_id(); base < g.vertices; base += global_threads()) {
        u64 v = base + lane_id();
        bool here = false;
        if (v < g.vertices) {
            u64 key = TREE ? g.keys[v] : u64(u32(g.distance[v]));
            u64 label = TREE ? key >> KEY_SHIFT : key;
            here = label == depth;
            if (label > depth) {
                if (TREE)
                    g.keys[v] = UNREACHED;
                else
                    g.distance[v] = -1;
            }
        }
        append(w.queue, &counts[FOUND], here, VERTEX(v));
    }
    grid_barrier(w.arrivals);
    w.first = 0;
    w.count = load_relaxed(&counts[FOUND]);
}

__device__ __forceinline__ void take_rows(const Graph& g, VERTEX vertex, i64 begin, u32 degree, VERTEX* found, u64* tail,
                                          u32 depth);
__device__ __forceinline__ void take_row(const Graph& g, VERTEX owner, u64 thread, u64 threads, VERTEX* found, u64* tail,
                                         u32 depth);

__device__ __forceinline__ void widen(const Graph& g, Wide& w, u32 depth) {
    u64* counts = begin_step(w);
    VERTEX* found = w.queue + w.first + w.count;
    for (u64 base = global_thread() - lane_id(); base < w.count; base += global_threads()) {
        bool valid = base + lane_id() < w.count;
        VERTEX vertex = valid ? w.queue[w.first + base + lane_id()] : VERTEX(0);
        i64 begin;
        u64 degree;
        read_row(g, vertex, valid, begin, degree);
        if (g.logged) count_arcs(g, depth - 1, degree);
        append(w.listed, &counts[LISTED], degree > LONG_ROW && degree <= HUGE_ROW, vertex);
        append(w.listed + w.huge, &counts[HUGE], degree > HUGE_ROW, vertex);
        take_rows(g, vertex, begin, degree > LONG_ROW ? 0 : u32(degree), found, &counts[FOUND], depth);
    }
    grid_barrier(w.arrivals);
    u64 rows = load_relaxed(&counts[LISTED]), huge = load_relaxed(&counts[HUGE]);
    for (u64 i = blockIdx.x; i < rows; i += gridDim.x)
        take_row(g, w.listed[i], threadIdx.x, blockDim.x, found, &counts[FOUND], depth);
    for (u64 i = 0; i < huge; ++i)
        take_row(g, w.listed[w.huge + i], global_thread(), global_threads(), found, &counts[FOUND], depth);
    if (rows || huge) grid_barrier(w.arrivals);
    w.first += w.count;
    w.count = load_relaxed(&counts[FOUND]);
}
