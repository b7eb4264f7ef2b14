// Afforest (Sutton, Ben-Nun, Barak, IPDPS 2018) in one cooperative launch: tiles of vertices are hooked, a few
// neighbours of sampled vertices joined, then the arcs of what lies outside the largest component found so far.
//
// The label is the root of a tree, which is its smallest vertex (forest.cuh). In a symmetric graph the vertices
// of the largest component are skipped: an arc that leaves it is seen from its other end, whose vertex stops as
// soon as it belongs to the largest component itself. Where no component is large, each edge is joined from its
// larger end instead. Where arcs do not go both ways every arc is joined.
//
// Contract: row_offsets i64 (vertices + 1), columns VERTEX ascending within rows, component VERTEX (vertices),
// linked u32 (vertices / 32, rounded up), roots VERTEX (vertices / 8 + TILE), hubs VERTEX (a place for each
// vertex with HUB arcs or more), counters u64 (COUNTERS) all 0. Grid: no more blocks than run at once.
//
// variants VERTEX: u32 u64
// variants BLOCK: 512 1024

#include "kernels/cuda/grid_barrier.cuh"
#include "kernels/components/tile.cuh"

constexpr u32 MOST_TRACED = 16;
constexpr i64 HUB = 4096;       // arcs from which a row is split over the grid
constexpr i64 ALONE = 32;       // arcs that a lane joins before its warp helps
constexpr u32 SWEPT = 4;        // vertices per lane that are looked up at the same time
constexpr u32 QUEUE = WARP * (SWEPT + 1);
constexpr u32 MAJORITY = 16;    // votes of 32 from which skipping a component beats joining each edge once
constexpr u64 NO_GIANT = ~0ull;
enum Giant : u64 { NONE, SAMPLED, FIRST };
enum Counter { ROOTS = 0, HUBS = 16, GIANT = 32, HOOKED = 48, ARRIVALS = 64, COUNTERS = 80 };

union Scratch {
    Tile tile;
    VERTEX queue[BLOCK / WARP][QUEUE];
    VERTEX giant;
};

struct Work {
    const i64* row_offsets;
    const VERTEX* columns;
    u64 vertices, rounds;
    VERTEX* component;
    VERTEX* hubs;
    u64* counters;
    VERTEX giant;  // NO_VERTEX: none is skipped
    bool once;     // whether an arc is joined from its larger end alone
    bool hooked;
};

// Whether a vertex that others hang on belongs to the component that is skipped.
__device__ __forceinline__ bool in_giant(const Work& work, VERTEX root) {
    return work.giant != NO_VERTEX && (root == work.giant || parent_of(work.component, work.giant) == root);
}

// Join the arcs of one vertex per lane, each with what it is linked to.
__device__ __forceinline__ void join_rows(Work& work, VERTEX v, bool live) {
    i64 at = 0, end = 0;
    VERTEX root = 0;
    if (live) {
        root = root_of(work.component, v, work.giant);
        if (!in_giant(work, root)) at = work.row_offsets[v], end = work.row_offsets[u64(v) + 1];
        if (end - at >= HUB) {
            work.hubs[atomicAdd(&work.counters[HUBS], 1ull)] = v;
            at = end;
        }
    }
    if (at < end) {
        u64 group = u64(v) / WARP * WARP, past = group + WARP < work.vertices ? group + WARP : work.vertices;
        i64 begin = at, stop = end - at < ALONE ? end : at + ALONE;
        i64 joined = i64(looked_at(work.row_offsets[group], work.row_offsets[past], work.rounds));
        VERTEX tile = v / TILE * TILE;
        for (; at < stop; ++at) {
            VERTEX u = work.columns[at];
            if (u >= v && work.once) at = stop = end;
            if (at == end || (u >= tile && u < v && at - begin < joined)) continue;
            root = join(work.component, root, u, work.giant, work.hooked);
            if (in_giant(work, root)) at = stop = end;
        }
    }
    __syncwarp();
    u32 left = __ballot_sync(ALL_LANES, at < end);
    while (left) {
        u32 from = __ffs(left) - 1;
        left &= left - 1;
        i64 last = __shfl_sync(ALL_LANES, end, from);
        VERTEX row = __shfl_sync(ALL_LANES, v, from), top = __shfl_sync(ALL_LANES, root, from);
        for (i64 i = __shfl_sync(ALL_LANES, at, from); i < last; i += WARP) {
            bool done = false;
            if (i + lane_id() < last) {
                VERTEX u = work.columns[i + lane_id()];
                done = work.once && u >= row;
                if (!done) {
                    top = join(work.component, root_of(work.component, top, work.giant), u, work.giant, work.hooked);
                    done = in_giant(work, top);
                }
            }
            if (__any_sync(ALL_LANES, done)) break;
        }
    }
}

// Point every vertex at its root and, if asked, join the arcs of those outside the component that is skipped.
__device__ __forceinline__ void sweep(Work& work, const u32* linked, VERTEX* queue, bool joining) {
    const u32 lane = lane_id();
    u32 queued = 0;
    for (u64 base = global_thread() / WARP * WARP * SWEPT; base < work.vertices; base += global_threads() * SWEPT) {
        VERTEX parent[SWEPT], above[SWEPT];
#pragma unroll
        for (u32 j = 0; j < SWEPT; ++j) {
            u64 v = base + j * WARP + lane;
            parent[j] = v < work.vertices ? work.component[v] : VERTEX(v);
        }
#pragma unroll
        for (u32 j = 0; j < SWEPT; ++j) {
            u64 v = base + j * WARP + lane;
            above[j] = parent[j] == v || parent[j] == work.giant ? parent[j] : work.component[parent[j]];
        }
#pragma unroll
        for (u32 j = 0; j < SWEPT; ++j) {
            u64 v = base + j * WARP + lane;
            VERTEX root = above[j];
            if (root != parent[j] && root != work.giant) root = root_of(work.component, root, work.giant);
            if (root != parent[j]) work.component[v] = root;
            if (!joining) continue;
            u32 word = base + j * WARP < work.vertices ? linked[base / WARP + j] : 0;
            bool open = word >> lane & 1 && root != work.giant;
            u32 all = __ballot_sync(ALL_LANES, open);
            if (open) queue[queued + __popc(all & lanes_below())] = VERTEX(v);
            queued += __popc(all);
        }
        __syncwarp();
        while (queued >= WARP) {
            queued -= WARP;
            VERTEX v = queue[queued + lane];
            __syncwarp();
            join_rows(work, v, true);
        }
    }
    if (queued) join_rows(work, lane < queued ? queue[lane] : VERTEX(0), lane < queued);
}

// The most frequent component among 32 vertices that have arcs, plus one; NO_GIANT if it has no majority.
__device__ __forceinline__ u64 vote(const Work& work, const u32* linked) {
    u64 v = __umul64hi((lane_id() + 1) * 0x9E3779B97F4A7C15ull, work.vertices);
    for (u32 tries = 0; tries < 16 && !(linked[v / WARP] >> v % WARP & 1); ++tries) v = (v * 3 + 1) % work.vertices;
    VERTEX root = root_of(work.component, VERTEX(v), NO_VERTEX);
    u32 votes = __popc(__match_any_sync(ALL_LANES, root)), best = votes << 8 | lane_id();
    for (u32 step = WARP / 2; step; step /= 2) {
        u32 other = __shfl_xor_sync(ALL_LANES, best, step);
        best = other > best ? other : best;
    }
    root = __shfl_sync(ALL_LANES, root, best & 0xff);
    return best >> 8 >= MAJORITY ? u64(root) + 1 : NO_GIANT;
}

// The component to skip, the same one in every block: trees grow while blocks vote, so the first vote counts.
__device__ __forceinline__ VERTEX choose_giant(const Work& work, const u32* linked, u64 giant, VERTEX& shared) {
    if (warp_id() == 0) {
        u64 choice = NO_GIANT;
        if (giant == SAMPLED) choice = vote(work, linked);
        if (giant == FIRST) choice = u64(root_of(work.component, VERTEX(0), NO_VERTEX)) + 1;
        if (lane_id() == 0) {
            u64 held = atomicCAS(&work.counters[GIANT], 0ull, choice);
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
    if (global_thread() == 0 && step < MOST_TRACED) trace[step] = u64(clock64());
    ++step;
}

extern "C" __global__ void __launch_bounds__(BLOCK, 1024 / BLOCK)
    afforest(const i64* row_offsets, const VERTEX* columns, u64 vertices, u64 symmetric, u64 rounds, u64 probes,
             u64 giant, VERTEX* component, u32* linked, VERTEX* roots, VERTEX* hubs, u64* counters, u64* trace) {
    __shared__ Scratch scratch;
    u64* arrivals = &counters[ARRIVALS];
    u32 step = 0;
    mark(trace, step);
    hook_tiles(scratch.tile, row_offsets, columns, vertices, symmetric, rounds, component, linked, roots,
               &counters[ROOTS]);
    mark(trace, step);
    grid_barrier(arrivals);
    mark(trace, step);

    // All roots of a long chain of tiles jump at the same time, which halves it again and again.
    u64 listed = load_relaxed(&counters[ROOTS]);
    for (u64 i = global_thread(); i < listed; i += global_threads()) {
        VERTEX v = roots[i], parent = parent_of(component, v), above = parent_of(component, parent);
        while (parent != above) {
            component[v] = parent = above;
            above = parent_of(component, parent);
        }
    }
    if (listed) grid_barrier(arrivals);
    mark(trace, step);

    Work work{row_offsets, columns, vertices, rounds, component, hubs, counters, NO_VERTEX, false, false};
    u64 asked = vertices < global_threads() ? vertices : global_threads();
    if (probes && global_thread() < asked) {
        u64 v = global_thread() * vertices / asked;
        i64 begin = row_offsets[v];
        u64 arcs = u64(row_offsets[v + 1] - begin), looked = arcs < probes ? arcs : probes;
        VERTEX root = looked ? root_of(component, VERTEX(v), NO_VERTEX) : VERTEX(v);
        for (u64 k = 0; k < looked; ++k)
            root = join(component, root, columns[begin + i64(arcs * k / looked)], NO_VERTEX, work.hooked);
    }
    mark(trace, step);
    grid_barrier(arrivals);
    mark(trace, step);

    work.giant = choose_giant(work, linked, symmetric ? giant : u64(NONE), scratch.giant);
    work.once = symmetric && work.giant == NO_VERTEX;
    work.hooked = false;
    mark(trace, step);
    sweep(work, linked, scratch.queue[warp_id()], true);
    if (work.hooked) counters[HOOKED] = 1;
    mark(trace, step);
    grid_barrier(arrivals);
    mark(trace, step);

    u64 split = load_relaxed(&counters[HUBS]);
    if (split) {
        for (u64 i = 0; i < split; ++i) {
            VERTEX hub = hubs[i], root = hub;
            i64 end = row_offsets[u64(hub) + 1];
            for (i64 arc = row_offsets[hub] + i64(global_thread()); arc < end; arc += i64(global_threads()))
                root = join(component, root_of(component, root, NO_VERTEX), columns[arc], NO_VERTEX, work.hooked);
        }
        if (work.hooked) counters[HOOKED] = 1;
        grid_barrier(arrivals);
    }
    mark(trace, step);
    if (!load_relaxed(&counters[HOOKED])) return;  // no tree has changed since the vertices were pointed at roots
    if (work.giant != NO_VERTEX && parent_of(component, work.giant) != work.giant) work.giant = NO_VERTEX;
    sweep(work, linked, scratch.queue[warp_id()], false);
    mark(trace, step);
}
