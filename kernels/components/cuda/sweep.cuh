// What follows the tiles: roots that jump, the choice of the component to skip, and the sweep that points every
// vertex at its root while the rows of those outside that component are joined.
//
// What kernels share in device memory are counters, u64 (COUNTERS) all 0 at the start, and a bit for each vertex
// that has arcs, u32 linked (vertices / 32, rounded up).

#include "kernels/cuda/grid_barrier.cuh"
#include "kernels/components/cuda/tile.cuh"

constexpr u32 MAX_TRACED = 16;
constexpr u32 SWEPT = sizeof(VERTEX) == 4 ? 6 : 4;  // vertices per lane that are looked up at the same time
constexpr u32 QUEUE = WARP * (SWEPT + 1);
constexpr u32 MAJORITY = 16;  // votes of 32 from which skipping a component beats joining each edge once
constexpr u32 PROBERS = 64;   // threads of a block that join arcs of a sample
constexpr u64 NO_GIANT = ~0ull;
enum Giant : u64 { NONE, SAMPLED, FIRST };
enum Counter { ROOTS = 0, HUBS = 16, GIANT = 32, CHANGED = 48, ARRIVALS = 64, COUNTERS = 80 };

union Scratch {
    Tile tile;
    VERTEX queue[BLOCK / WARP][QUEUE];
    VERTEX giant;
};

struct Forest {
    u64 vertices;
    VERTEX* component;
    u64* counters;
    VERTEX giant;  // NO_VERTEX: none is skipped
    bool once;     // whether an arc is joined from its larger end alone
    bool changed;  // whether this thread changed a tree
};

__device__ __forceinline__ VERTEX root_in(Forest& forest, VERTEX v) {
    return root_of(forest.component, v, forest.giant, forest.changed);
}

__device__ __forceinline__ VERTEX join_in(Forest& forest, VERTEX root, VERTEX u) {
    return join(forest.component, root, u, forest.giant, forest.changed);
}

// Join an arc of a vertex that hung on `root` a moment ago; most arcs lie within a tree, which one load may tell.
__device__ __forceinline__ VERTEX join_arc(Forest& forest, VERTEX root, VERTEX u) {
    VERTEX above = parent_of(forest.component, u);
    return above == root ? root : join_in(forest, root, above);
}

// The sampled vertex of this thread, if it is one that probes.
__device__ __forceinline__ bool sampled(u64 vertices, u64& v) {
    u64 probers = u64(gridDim.x) * PROBERS, asked = vertices < probers ? vertices : probers;
    u64 mine = u64(blockIdx.x) * PROBERS + threadIdx.x;
    v = mine * vertices / (asked ? asked : 1);
    return threadIdx.x < PROBERS && mine < asked;
}

// Whether a vertex that others hang on belongs to the component that is skipped.
__device__ __forceinline__ bool in_giant(const Forest& forest, VERTEX root) {
    return forest.giant != NO_VERTEX && (root == forest.giant || parent_of(forest.component, forest.giant) == root);
}

// Listed roots jump, all at the same time, which halves a long chain of tiles again and again.
__device__ __forceinline__ void flatten_roots(const Forest& forest, const VERTEX* roots, u64 listed) {
    for (u64 i = global_thread(); i < listed; i += global_threads()) {
        VERTEX v = roots[i], parent = parent_of(forest.component, v), above = parent_of(forest.component, parent);
        while (parent != above) {
            forest.component[v] = parent = above;
            above = parent_of(forest.component, parent);
        }
    }
}

// Point every vertex at its root. With JOINING those that have arcs and are outside the component that is skipped
// are given to join_rows(v, live), 32 at a time, a vertex per lane that is live.
template <bool JOINING, class JoinRows>
__device__ __forceinline__ void sweep(Forest& forest, const u32* linked, VERTEX* queue, JoinRows join_rows) {
    const u32 lane = lane_id();
    u32 queued = 0;
    for (u64 base = global_thread() / WARP * WARP * SWEPT; base < forest.vertices; base += global_threads() * SWEPT) {
        VERTEX parent[SWEPT], above[SWEPT];
#pragma unroll
        for (u32 j = 0; j < SWEPT; ++j) {
            u64 v = base + j * WARP + lane;
            parent[j] = v < forest.vertices ? forest.component[v] : VERTEX(v);
        }
#pragma unroll
        for (u32 j = 0; j < SWEPT; ++j) {
            u64 v = base + j * WARP + lane;
            above[j] = parent[j] == v || parent[j] == forest.giant ? parent[j] : forest.component[parent[j]];
        }
        // All walks go on step by step together, so that their loads overlap.
        u32 walking = 0;
#pragma unroll
        for (u32 j = 0; j < SWEPT; ++j) walking |= u32(above[j] != parent[j] && above[j] != forest.giant) << j;
        while (walking) {
            VERTEX next[SWEPT];
#pragma unroll
            for (u32 j = 0; j < SWEPT; ++j)
                next[j] = walking >> j & 1 ? parent_of(forest.component, above[j]) : above[j];
#pragma unroll
            for (u32 j = 0; j < SWEPT; ++j) {
                if (next[j] == above[j] || next[j] == forest.giant) walking &= ~(1u << j);
                above[j] = next[j];
            }
        }
#pragma unroll
        for (u32 j = 0; j < SWEPT; ++j) {
            u64 v = base + j * WARP + lane;
            VERTEX root = above[j];
            if (root != parent[j]) forest.component[v] = root;
            if (!JOINING) continue;
            u32 word = base + j * WARP < forest.vertices ? linked[base / WARP + j] : 0;
            bool open = word >> lane & 1 && root != forest.giant;
            u32 all = __ballot_sync(ALL_LANES, open);
            if (open) queue[queued + __popc(all & lanes_below())] = VERTEX(v);
            queued += __popc(all);
        }
        if (!JOINING) continue;
        __syncwarp();
        while (queued >= WARP) {
            queued -= WARP;
            VERTEX v = queue[queued + lane];
            __syncwarp();
            join_rows(v, true);
        }
    }
    if (JOINING && queued) join_rows(lane < queued ? queue[lane] : VERTEX(0), lane < queued);
}

// The most frequent component among 32 vertices that have arcs, plus one; NO_GIANT if it has no majority.
__device__ __forceinline__ u64 vote(const Forest& forest, const u32* linked) {
    u64 v = __umul64hi((lane_id() + 1) * 0x9E3779B97F4A7C15ull, forest.vertices);
    for (u32 tries = 0; tries < 16 && !(linked[v / WARP] >> v % WARP & 1); ++tries) v = (v * 3 + 1) % forest.vertices;
    VERTEX root = root_above(forest.component, VERTEX(v), NO_VERTEX);
    u32 votes = __popc(__match_any_sync(ALL_LANES, root)), best = votes << 8 | lane_id();
    for (u32 step = WARP / 2; step; step /= 2) {
        u32 other = __shfl_xor_sync(ALL_LANES, best, step);
        best = other > best ? other : best;
    }
    root = __shfl_sync(ALL_LANES, root, best & 0xff);
    return best >> 8 >= MAJORITY ? u64(root) + 1 : NO_GIANT;
}

// The component to skip, the same one in every block: trees grow while blocks vote, so the first vote counts. Each
// `ballot`, 0 to 15, is another choice.
__device__ __forceinline__ VERTEX choose_giant(const Forest& forest, const u32* linked, u64 giant, VERTEX& shared,
                                               u32 ballot = 0) {
    if (warp_id() == 0) {
        u64 choice = NO_GIANT;
        if (giant == SAMPLED) choice = vote(forest, linked);
        if (giant == FIRST) choice = u64(root_above(forest.component, VERTEX(0), NO_VERTEX)) + 1;
        if (lane_id() == 0) {
            u64 held = atomicCAS(&forest.counters[GIANT + ballot], 0ull, choice);
            if (held) choice = held;
            shared = choice == NO_GIANT ? NO_VERTEX : VERTEX(choice - 1);
        }
    }
    __syncthreads();
    VERTEX chosen = shared;
    __syncthreads();
    return chosen;
}

// The processor's clock at the end of a phase, for measurements.
__device__ __forceinline__ void mark(u64* trace, u32& step) {
    if (global_thread() == 0 && step < MAX_TRACED) trace[step] = u64(clock64());
    ++step;
}

// The first phases: tiles are hooked, and the roots that they list pointed at their own.
template <class Neighbours>
__device__ __forceinline__ void hook_all(Forest& forest, Tile& tile, const Neighbours& rows, u32* linked, VERTEX* roots,
                                         u64* trace, u32& step) {
    u64* arrivals = &forest.counters[ARRIVALS];
    mark(trace, step);
    hook_tiles(tile, rows, forest.vertices, forest.component, linked, roots, &forest.counters[ROOTS]);
    mark(trace, step);
    grid_barrier(arrivals);
    mark(trace, step);

    u64 listed = load_relaxed(&forest.counters[ROOTS]);
    flatten_roots(forest, roots, listed);
    if (listed) grid_barrier(arrivals);
    mark(trace, step);
}

// The sweep that joins the rows of all vertices outside the component that is skipped.
template <class Join>
__device__ __forceinline__ void sweep_first(Forest& forest, const u32* linked, VERTEX* queue, const Join& join_rows,
                                            u64* trace, u32& step) {
    forest.changed = false;
    mark(trace, step);
    sweep<true>(forest, linked, queue, join_rows);
    if (forest.changed) forest.counters[CHANGED] = 1;
    mark(trace, step);
    grid_barrier(&forest.counters[ARRIVALS]);
    mark(trace, step);
}

// After `split` rows were joined by the whole grid: vertices are pointed at their roots again, if a tree has changed
// since they were.
template <class Join>
__device__ __forceinline__ void sweep_again(Forest& forest, const u32* linked, VERTEX* queue, const Join& join_rows,
                                            u64 split, u64* trace, u32& step) {
    if (split) {
        if (forest.changed) forest.counters[CHANGED] = 1;
        grid_barrier(&forest.counters[ARRIVALS]);
    }
    mark(trace, step);
    if (!load_relaxed(&forest.counters[CHANGED])) return;
    if (forest.giant != NO_VERTEX && parent_of(forest.component, forest.giant) != forest.giant) forest.giant = NO_VERTEX;
    sweep<false>(forest, linked, queue, join_rows);
    mark(trace, step);
}
