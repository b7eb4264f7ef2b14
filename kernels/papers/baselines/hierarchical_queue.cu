// BFS with a hierarchy of queues (Luo, Wong, Hwu, DAC 2010): a thread puts a new vertex into one of its
// block's warp-level queues in shared memory; all of these, one after the other, are the block-level queue,
// which one atomic moves to the grid-level queue in global memory. A thread reads its row alone.
//
// Warp-level queues. The paper has 8, as many as lanes that a multiprocessor of its time ran at once, so that
// no two of them meet; here each lane has one. A vertex that finds its queue full goes to the grid-level
// queue directly.
//
// Kernel arrangement. A frontier that one block can hold is expanded by one block, whose levels end with a
// barrier among its threads; larger ones by the grid, with a barrier among blocks. The paper starts a kernel
// a level for frontiers beyond that, since its GPU could not hold enough threads; here all is one launch.
//
// Contract, beyond that of sliding_queue.cuh: progress u64 (3). one_block: the largest frontier for one block.
//
// variants VERTEX: u32 u64
// variants TREE: 0 32 33

#include "kernels/papers/baselines/sliding_queue.cuh"

constexpr u32 QUEUES = WARP;
constexpr u32 CAPACITY = 64;  // of a warp-level queue; the paper's code has 400 for 8 of them

struct Queues {
    u32 filled[QUEUES];
    u32 place[QUEUES];
    u64 base;
    VERTEX entries[QUEUES][CAPACITY + 1];  // an odd stride, so that lanes use different banks
};

// Move the block-level queue to the grid-level queue; all threads of the block call it.
__device__ __forceinline__ void merge(Queues& q, VERTEX* next, u64* count) {
    __syncthreads();
    if (warp_id() == 0) {
        u32 mine = q.filled[lane_id()] < CAPACITY ? q.filled[lane_id()] : CAPACITY;
        u32 upto = warp_inclusive_sum(mine);
        q.filled[lane_id()] = mine;
        q.place[lane_id()] = upto - mine;
        if (lane_id() == WARP - 1) q.base = upto ? atomicAdd(count, u64(upto)) : 0;
    }
    __syncthreads();
    for (u32 queue = warp_id(); queue < QUEUES; queue += blockDim.x / WARP) {
        u32 filled = q.filled[queue];
        for (u32 i = lane_id(); i < filled; i += WARP) next[q.base + q.place[queue] + i] = q.entries[queue][i];
        __syncwarp();
        if (lane_id() == 0) q.filled[queue] = 0;
    }
    __syncthreads();
}

// Expand the frontier on `blocks` blocks, of which this is one.
__device__ __forceinline__ void expand(const Graph& g, Queues& local, const SlidingQueue& q, u64* count, u64 blocks,
                                       u64* log, u64 logged) {
    u64 arcs = 0;
    for (u64 tile = q.first + u64(blockIdx.x) * blockDim.x; tile < q.last; tile += blocks * blockDim.x) {
        if (tile + threadIdx.x < q.last) {
            VERTEX vertex = q.queue[tile + threadIdx.x];
            i64 begin = g.row_offsets[vertex], end = g.row_offsets[u64(vertex) + 1];
            arcs += u64(end - begin);
            expand_row(g, vertex, begin, end, q.level + 1, [&](VERTEX neighbour) {
                u32 at = atomicAdd(&local.filled[lane_id()], 1u);
                if (at < CAPACITY)
                    local.entries[lane_id()][at] = neighbour;
                else
                    q.queue[q.last + atomicAdd(count, 1ull)] = neighbour;
            });
        }
        merge(local, q.queue + q.last, count);
    }
    log_arcs(log, logged, q.level, arcs);
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    search(const i64* row_offsets, const VERTEX* columns, i32* distance, u64* keys, i64* predecessor, VERTEX* queue,
           u64* counters, u64* progress, u64 one_block, u64* log, u64* arrivals, u64 vertices, u64 max_depth, u64 logged,
           u64 source) {
    __shared__ Queues local;
    Graph g{row_offsets, columns, distance, keys};
    SlidingQueue q{queue, counters, max_depth};
    begin_search(g, log, logged, vertices, source);
    q.begin_search(source);
    if (threadIdx.x < QUEUES) local.filled[threadIdx.x] = 0;
    grid_barrier(arrivals);

    auto expand_on = [&](u64 blocks) {
        u64* count = q.begin_level();
        expand(g, local, q, count, blocks, log, logged);
        if (blocks == 1)
            __syncthreads();
        else
            grid_barrier(arrivals);
        q.end_level(count);
    };
    while (q.more()) {
        if (q.last - q.first > one_block && gridDim.x > 1) {
            expand_on(gridDim.x);
            continue;
        }
        grid_barrier(arrivals);  // all have read the counters, which one block alone comes round to sooner
        if (blockIdx.x == 0) {
            do
                expand_on(1);
            while (q.more() && q.last - q.first <= one_block);
            if (threadIdx.x == 0) {
                store_relaxed(&progress[0], q.first);
                store_relaxed(&progress[1], q.last);
                store_relaxed(&progress[2], q.level);
            }
        }
        grid_barrier(arrivals);
        q.first = load_relaxed(&progress[0]);
        q.last = load_relaxed(&progress[1]);
        q.level = u32(load_relaxed(&progress[2]));
    }
    if (global_thread() == 0) log[0] = q.level;
    write_wide(keys, distance, predecessor, vertices);
}
