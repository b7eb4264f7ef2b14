// FlexBFS, configurations 1 to 3 of its table 1: a combined kernel that goes through levels with a barrier among
// blocks while the frontier's size stays within a range, and else returns to the host, which starts it again
// with another number of blocks.
//
// The poster reads hubs with all available threads, which a small launch has few of. So a launch that has set
// aside more than hub_arcs arcs returns to the host before it reads them, and the next one begins with that.
//
// Contract. row_offsets i64 (vertices + 1), columns VERTEX. queue VERTEX (vertices), hubs VERTEX (vertices with
// more than hub_degree arcs), counters u64 (ROUNDS, COUNTER_WORDS), arrivals u64 (the most blocks + 1), one
// barrier for each number of blocks, progress u64 (4): level, first and last of the frontier, and whether hubs
// of that level are waiting. Block: a multiple of 32. Grid: no more blocks than run at the same time. See
// flex.cuh.
//
// variants VERTEX: u32 u64
// variants TREE: 0 32 33

#include "kernels/papers/flexbfs/flex.cuh"
#include "kernels/cuda/grid_barrier.cuh"

extern "C" __global__ void __launch_bounds__(1024, 1)
    expand_levels(const i64* row_offsets, const VERTEX* columns, i32* distance, u64* keys, VERTEX* queue, u64* counters,
                  u64* log, u64 logged, VERTEX* hubs, u64* arrivals, u64* progress, u64 max_depth, u64 two_level,
                  u64 hub_degree, u64 level, u64 first, u64 last, u64 least, u64 most, u64 hub_arcs, u64 waiting) {
    __shared__ BlockQueue block_queue;
    Graph g{row_offsets, columns, distance, keys};
    arrivals += gridDim.x;
    if (threadIdx.x == 0) block_queue.filled = 0;
    __syncthreads();
    do {
        u64* mine = counters + level % ROUNDS * COUNTER_WORDS;
        u64* next = counters + (level + 1) % ROUNDS * COUNTER_WORDS;
        Level l{queue, hubs, mine, first, last, u32(level) + 1, two_level != 0, hub_degree};
        if (!waiting) {
            if (global_thread() == 0) next[FOUND] = next[HUBS] = next[HUB_ARCS] = 0;
            log_arcs(log, logged, u32(level), expand(g, l, block_queue));
            grid_barrier(arrivals);
        }
        u64 set_aside = load_relaxed(&mine[HUBS]);
        waiting = !waiting && load_relaxed(&mine[HUB_ARCS]) > hub_arcs;
        if (waiting) break;
        if (set_aside) {
            log_arcs(log, logged, u32(level), expand_hubs(g, l, block_queue, set_aside));
            grid_barrier(arrivals);
        }
        first = last;
        last += load_relaxed(&mine[FOUND]);
        ++level;
    } while (last > first && level < max_depth && last - first >= least && last - first <= most);
    if (global_thread() == 0) {
        progress[0] = level;
        progress[1] = first;
        progress[2] = last;
        progress[3] = waiting;
    }
}
