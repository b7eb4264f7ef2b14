// FlexBFS (Liu, An, Han, Li, Sun, Zhou, Wei, Tang, PPoPP 2012, poster): what its two ways of launching share.
//
// A level expands queue[first:last], a thread per vertex, and counts the vertices that it adds behind `last`;
// the queue slides, since every vertex enters once. `counters` hold, per copy (see baseline.cuh), FOUND new
// vertices, and HUBS vertices that were set aside with HUB_ARCS arcs.
//
// Two-level queue (config2): new vertices go to a queue of the block in shared memory, which is copied to the
// queue in global memory at consecutive addresses after each tile of vertices. One that finds it full goes to
// global memory directly.
//
// High-degree vertices (config3): a row with more than hub_degree arcs is not read by its thread; the vertex
// goes to a special queue, whose rows all threads read together once the others are done.

#include "kernels/papers/baselines/baseline.cuh"

constexpr u32 CAPACITY = 2048;  // of a block's queue: rows of 8 arcs for each of 256 threads
enum Counter : u32 { FOUND = 0, HUBS = 16, HUB_ARCS = 17 };

struct BlockQueue {
    u32 filled;
    u64 base;
    VERTEX entries[CAPACITY];
};

struct Level {
    VERTEX* queue;
    VERTEX* hubs;
    u64* counters;  // this level's copy
    u64 first, last;
    u32 depth;  // of the vertices that it finds
    bool two_level;
    u64 hub_degree;
};

__device__ __forceinline__ void put(const Level& l, BlockQueue& q, VERTEX vertex) {
    if (l.two_level) {
        u32 at = atomicAdd(&q.filled, 1u);
        if (at < CAPACITY) {
            q.entries[at] = vertex;
            return;
        }
    }
    l.queue[l.last + atomicAdd(&l.counters[FOUND], 1ull)] = vertex;
}

// Move the block's queue to the one in global memory; all threads of the block call it.
__device__ __forceinline__ void flush(const Level& l, BlockQueue& q) {
    if (!l.two_level) return;
    __syncthreads();
    u32 filled = q.filled < CAPACITY ? q.filled : CAPACITY;
    if (threadIdx.x == 0) q.base = filled ? l.last + atomicAdd(&l.counters[FOUND], u64(filled)) : 0;
    __syncthreads();
    for (u32 i = threadIdx.x; i < filled; i += blockDim.x) l.queue[q.base + i] = q.entries[i];
    if (threadIdx.x == 0) q.filled = 0;
    __syncthreads();
}

// Returns the arcs that this thread read.
__device__ __forceinline__ u64 expand(const Graph& g, const Level& l, BlockQueue& q) {
    u64 arcs = 0;
    for (u64 tile = l.first + u64(blockIdx.x) * blockDim.x; tile < l.last; tile += global_threads()) {
        u64 i = tile + threadIdx.x;
        if (i < l.last) {
            VERTEX vertex = l.queue[i];
            i64 begin = g.row_offsets[vertex], end = g.row_offsets[u64(vertex) + 1];
            if (u64(end - begin) > l.hub_degree) {
                l.hubs[atomicAdd(&l.counters[HUBS], 1ull)] = vertex;
                atomicAdd(&l.counters[HUB_ARCS], u64(end - begin));
            } else {
                arcs += u64(end - begin);
                expand_row(g, vertex, begin, end, l.depth, [&](VERTEX neighbour) { put(l, q, neighbour); });
            }
        }
        flush(l, q);
    }
    return arcs;
}

// Read the rows of `count` hubs with all threads: several blocks a hub while there are fewer hubs than blocks.
__device__ __forceinline__ u64 expand_hubs(const Graph& g, const Level& l, BlockQueue& q, u64 count) {
    u64 arcs = 0;
    u64 together = gridDim.x > count ? gridDim.x / count : 1, teams = gridDim.x / together;
    u64 team = blockIdx.x / together, place = blockIdx.x % together * blockDim.x + threadIdx.x;
    for (u64 hub = team; team < teams && hub < count; hub += teams) {
        VERTEX vertex = l.hubs[hub];
        i64 end = g.row_offsets[u64(vertex) + 1];
        for (i64 k = g.row_offsets[vertex] + i64(place); k < end; k += i64(together * blockDim.x)) {
            ++arcs;
            VERTEX neighbour = g.columns[k];
            if (claim(g, neighbour, vertex, l.depth)) put(l, q, neighbour);
        }
        flush(l, q);
    }
    return arcs;
}

extern "C" __global__ void begin(i32* distance, u64* keys, VERTEX* queue, u64* counters, u64* log, u64 vertices,
                                 u64 logged, u64 source) {
    begin_search(Graph{nullptr, nullptr, distance, keys}, log, logged, vertices, source);
    if (global_thread() == 0) queue[0] = VERTEX(source);
    if (global_thread() < ROUNDS * COUNTER_WORDS) counters[global_thread()] = 0;
}

extern "C" __global__ void finish(const u64* keys, i32* distance, i64* predecessor, u64 vertices) {
    write_wide(keys, distance, predecessor, vertices);
}
