// Afforest (Sutton, Ben-Nun, Barak, IPDPS 2018) in one cooperative launch: hook every vertex to its first
// neighbour, link sampled neighbours, then all arcs of what lies outside the largest component found so far.
//
// A root is always hooked to a smaller vertex, so the root of a tree is its smallest vertex, which is the
// label. In a symmetric graph the vertices of the largest component are skipped in the last round: an arc
// that leaves it is seen from its other end. Otherwise every arc is linked.
//
// Contract: row_offsets i64 (vertices + 1), columns VERTEX, component VERTEX (vertices); hubs holds every
// vertex with HUB arcs or more, hub_count and votes start at 0. Block: 256 or more threads, a multiple of
// 32, at most 1024. Grid: no more blocks than run at the same time.
//
// variants VERTEX: u32 u64

#include "kernels/cuda/grid_barrier.cuh"
#include "kernels/cuda/lanes.cuh"

constexpr u32 SAMPLES = 256;  // vertices asked for their component when the largest is sought
constexpr i64 ALONE = 32;     // arcs that a lane links before its warp helps
constexpr u32 MAX_TRACED = 16;
constexpr i64 HUB = 4096;     // arcs from which a row is split over the grid

__device__ __forceinline__ VERTEX parent_of(const VERTEX* component, VERTEX vertex) {
    return *reinterpret_cast<const volatile VERTEX*>(&component[vertex]);
}

__device__ __forceinline__ VERTEX swap_root(VERTEX* component, VERTEX root, VERTEX with) {
    return atomicCAS(&component[root], root, with);
}

// Join the trees of two vertices: the larger root under the smaller vertex found on the other side.
__device__ __forceinline__ void link(VERTEX* component, VERTEX a, VERTEX b) {
    VERTEX p = parent_of(component, a), q = parent_of(component, b);
    while (p != q) {
        VERTEX high = p > q ? p : q, low = p > q ? q : p;
        VERTEX above = parent_of(component, high);
        if (above == low) return;
        if (above == high && swap_root(component, high, low) == high) return;
        p = parent_of(component, parent_of(component, high));
        q = parent_of(component, low);
    }
}

// Hook the larger of two roots under the smaller, at most once per warp and root. Of two hooks of one root
// the smaller parent stays and the other is lost, so this serves to sample only: what is lost is linked later.
__device__ __forceinline__ void hook(VERTEX* component, bool live, VERTEX p, VERTEX q) {
    VERTEX high = p > q ? p : q, low = p > q ? q : p;
    live = live && p != q;
    u32 same = __match_any_sync(ALL_LANES, live ? high : VERTEX(~VERTEX(0)));
    if (live && (same & lanes_below()) == 0) atomicMin(&component[high], low);
}

// Point every vertex at its root. Each step is stored, so that others' walks are cut short.
__device__ __forceinline__ void flatten(VERTEX* component, u64 vertices) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        VERTEX at = parent_of(component, VERTEX(v)), above = parent_of(component, at);
        while (at != above) {
            component[v] = above;
            at = above;
            above = parent_of(component, at);
        }
    }
}

// The most frequent component among sampled vertices that have arcs; every block finds the same one.
__device__ __forceinline__ VERTEX vote(const i64* row_offsets, const VERTEX* component, u64 vertices) {
    __shared__ VERTEX sample[SAMPLES];
    __shared__ u32 best;
    if (threadIdx.x == 0) best = 0;
    bool asked = threadIdx.x < SAMPLES;
    if (asked) {
        u64 v = __umul64hi(threadIdx.x * 0x9E3779B97F4A7C15ull, vertices);
        for (u32 tries = 0; tries < 16 && row_offsets[v] == row_offsets[v + 1]; ++tries) v = (v * 3 + 1) % vertices;
        sample[threadIdx.x] = component[v];
    }
    __syncthreads();
    u32 votes = 0;
    if (asked)
        for (u32 i = 0; i < SAMPLES; ++i) votes += sample[i] == sample[threadIdx.x];
    if (asked) atomicMax(&best, votes << 16 | threadIdx.x);
    __syncthreads();
    return sample[best & 0xffff];
}

// The processor's clock at the end of a phase, for measurements.
__device__ __forceinline__ void mark(u64* trace, u32& step) {
    if (global_thread() == 0 && step < MAX_TRACED) trace[step] = u64(clock64());
    ++step;
}

extern "C" __global__ void __launch_bounds__(1024)
    afforest(const i64* row_offsets, const VERTEX* columns, u64 vertices, u64 symmetric, u64 rounds, VERTEX* component,
             VERTEX* hubs, u64* hub_count, u64* trace, u64* arrivals) {
    u32 step = 0;
    mark(trace, step);
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        i64 begin = row_offsets[v];
        VERTEX first = begin < row_offsets[v + 1] ? columns[begin] : VERTEX(v);
        // A larger first neighbour has, where arcs go both ways, a first neighbour no larger than v.
        if (first > v && symmetric) first = columns[row_offsets[first]];
        component[v] = first < v ? first : VERTEX(v);
    }
    mark(trace, step);
    grid_barrier(arrivals);
    flatten(component, vertices);
    for (u64 round = 1; round <= rounds; ++round) {
        mark(trace, step);
        grid_barrier(arrivals);
        for (u64 base = global_thread() - lane_id(); base < vertices; base += global_threads()) {
            u64 v = base + lane_id();
            i64 place = v < vertices ? row_offsets[v] + i64(round) : 0;
            bool live = v < vertices && place < row_offsets[v + 1];
            VERTEX p = live ? parent_of(component, VERTEX(v)) : VERTEX(0);
            hook(component, live, p, live ? parent_of(component, columns[place]) : VERTEX(0));
        }
        mark(trace, step);
        grid_barrier(arrivals);
        flatten(component, vertices);
    }
    mark(trace, step);
    grid_barrier(arrivals);

    VERTEX largest = vote(row_offsets, component, vertices);
    for (u64 base = global_thread() - lane_id(); base < vertices; base += global_threads()) {
        u64 v = base + lane_id();
        bool open = v < vertices && !(symmetric && component[v] == largest);
        i64 at = open ? row_offsets[v] : 0, end = open ? row_offsets[v + 1] : 0;
        if (end - at >= HUB) {
            hubs[atomicAdd(hub_count, 1ull)] = VERTEX(v);
            at = end;
        }
        i64 stop = end - at < ALONE ? end : at + ALONE;
        for (; at < stop; ++at) link(component, VERTEX(v), columns[at]);
        __syncwarp();
        u32 left = __ballot_sync(ALL_LANES, at < end);
        while (left) {
            u32 from = take_lowest(left);
            i64 last = __shfl_sync(ALL_LANES, end, from);
            for (i64 i = __shfl_sync(ALL_LANES, at, from) + lane_id(); i < last; i += WARP)
                link(component, VERTEX(base + from), columns[i]);
            __syncwarp();
        }
    }
    mark(trace, step);
    grid_barrier(arrivals);
    u64 count = load_relaxed(hub_count);
    for (u64 i = 0; i < count; ++i) {
        VERTEX hub = hubs[i];
        i64 end = row_offsets[u64(hub) + 1];
        for (i64 arc = row_offsets[hub] + i64(global_thread()); arc < end; arc += i64(global_threads()))
            link(component, hub, columns[arc]);
    }
    mark(trace, step);
    grid_barrier(arrivals);
    flatten(component, vertices);
    mark(trace, step);
}
