// A queue that every vertex enters once: queue[first:last] is the frontier, and a level adds behind `last` what
// it finds, so that the frontier slides.
//
// Contract of its kernels. row_offsets i64 (vertices + 1), columns VERTEX. queue VERTEX (vertices), counters u64
// (ROUNDS, COUNTER_WORDS). Block: a multiple of 32. Grid: no more blocks than run at the same time.

#include "kernels/papers/baselines/baseline.cuh"
#include "kernels/cuda/grid_barrier.cuh"

struct SlidingQueue {
    VERTEX* queue;
    u64* counters;
    u64 max_depth;
    u64 first = 0, last = 1;
    u32 level = 0;

    __device__ __forceinline__ bool more() const { return last > first && level < max_depth; }

    __device__ __forceinline__ void begin_search(u64 source) const {
        if (global_thread() == 0) queue[0] = VERTEX(source);
        if (global_thread() < ROUNDS) counters[global_thread() * COUNTER_WORDS] = 0;
    }

    // Returns where the level counts the vertices that it adds.
    __device__ __forceinline__ u64* begin_level() const {
        u64* count = &counters[level % ROUNDS * COUNTER_WORDS];
        if (global_thread() == 0) counters[(level + 1) % ROUNDS * COUNTER_WORDS] = 0;
        return count;
    }

    // Behind the barrier that ends a level.
    __device__ __forceinline__ void end_level(const u64* count) {
        first = last;
        last += load_relaxed(count);
        ++level;
    }
};

// Search with one barrier a level. expand(queue, count) reads the rows of the frontier and returns the thread's arcs.
template <class Expand>
__device__ __forceinline__ void search_levels(const Graph& g, SlidingQueue q, i64* predecessor, u64* log, u64* arrivals,
                                              u64 vertices, u64 logged, u64 source, const Expand& expand) {
    begin_search(g, log, logged, vertices, source);
    q.begin_search(source);
    grid_barrier(arrivals);
    while (q.more()) {
        u64* count = q.begin_level();
        log_arcs(log, logged, q.level, expand(q, count));
        grid_barrier(arrivals);
        q.end_level(count);
    }
    if (global_thread() == 0) log[0] = q.level;
    write_wide(g.keys, g.distance, predecessor, vertices);
}
