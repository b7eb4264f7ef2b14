// Afforest (Sutton, Ben-Nun, Barak, IPDPS 2018) in one cooperative launch: tiles of vertices are hooked, a few
// neighbours of sampled vertices joined, then the arcs of what lies outside the largest component found so far.
//
// The label is the root of a tree, which is its smallest vertex (forest.cuh). In a symmetric graph the vertices
// of the largest component are skipped: an arc that leaves it is seen from its other end, whose vertex stops as
// soon as it belongs to the largest component itself. Where no component is large, each edge is joined from its
// larger end instead; of a graph with long rows, two neighbours of every vertex are joined before that is believed
// (in an order such as Cuthill-McKee's, first neighbours alone join next to nothing: 3.8 ms instead of 36 on 1.1 G
// arcs). Where arcs do not go both ways every arc is joined.
//
// Contract: row_offsets i64 (vertices + 1), columns VERTEX ascending within rows, component VERTEX (vertices),
// linked and counters as sweep.cuh says, roots VERTEX (vertices / 8 + TILE), hubs VERTEX (a place for each vertex
// with HUB arcs or more). Grid: no more blocks than run at once.
//
// variants VERTEX: u32 u64
// variants BLOCK: 512 1024

#include "kernels/components/cuda/sweep.cuh"
#include "kernels/cuda/lanes.cuh"

constexpr u32 THREADS = sizeof(VERTEX) == 4 ? 1536 : 1024;  // of a multiprocessor: more would spill registers
constexpr i64 HUB = 4096;  // arcs from which a row is split over the grid
constexpr i64 ALONE = 32;  // arcs that a lane joins before its warp helps
constexpr i64 SHORT = 8;   // arcs per row, on average over a warp, up to which `rounds` of them are read
constexpr i64 SECOND = 2;  // first neighbours of every vertex that are joined where hooks made no large component

// Only the first neighbour is looked at where rows are long, since every further one costs each lane a cache
// line of its own; where a warp's rows share few lines the first `rounds` neighbours are.
struct Columns {
    const i64* row_offsets;
    const VERTEX* columns;
    u64 vertices, rounds;
    bool symmetric;

    __device__ __forceinline__ u64 looked_at(i64 first, i64 last) const {
        return last - first <= WARP * SHORT ? rounds : 1;
    }

    __device__ __forceinline__ void open(u64 base, Near (&near)[EACH], u32* linked) const {
        i64 begin[EACH];
        u32 looked[EACH];
#pragma unroll
        for (u32 j = 0; j < EACH; ++j) {
            u64 v = base + j * BLOCK + threadIdx.x;
            begin[j] = row_offsets[v < vertices ? v : vertices];
        }
#pragma unroll
        for (u32 j = 0; j < EACH; ++j) {
            u64 v = base + j * BLOCK + threadIdx.x;
            i64 end = __shfl_down_sync(ALL_LANES, begin[j], 1);
            if (lane_id() == WARP - 1) end = row_offsets[v + 1 < vertices ? v + 1 : vertices];
            u64 most = looked_at(__shfl_sync(ALL_LANES, begin[j], 0), __shfl_sync(ALL_LANES, end, WARP - 1));
            u64 arcs = u64(end - begin[j]);
            looked[j] = u32(arcs < most ? arcs : most);
            u32 word = __ballot_sync(ALL_LANES, arcs != 0);
            if (lane_id() == 0 && v < vertices) linked[v / WARP] = word;
        }
#pragma unroll
        for (u32 k = 0; k < ROUNDS; ++k)
#pragma unroll
            for (u32 j = 0; j < EACH; ++j) {
                VERTEX v = VERTEX(base + j * BLOCK + threadIdx.x);
                near[j].neighbour[k] = k < looked[j] ? columns[begin[j] + k] : v;
            }
        // A larger first neighbour has, where arcs go both ways, a first neighbour no larger than v.
        bool larger[EACH];
#pragma unroll
        for (u32 j = 0; j < EACH; ++j) {
            VERTEX v = VERTEX(base + j * BLOCK + threadIdx.x), first = near[j].neighbour[0];
            larger[j] = symmetric && first > v;
            begin[j] = larger[j] ? row_offsets[first] : 0;
        }
#pragma unroll
        for (u32 j = 0; j < EACH; ++j) {
            VERTEX v = VERTEX(base + j * BLOCK + threadIdx.x);
            near[j].second = larger[j] ? columns[begin[j]] : v;
        }
    }
};

// Join the arcs of one vertex per lane, each with what it is linked to.
__device__ __forceinline__ void join_rows(Forest& forest, const Columns& rows, VERTEX* hubs, VERTEX v, bool live) {
    i64 at = 0, end = 0, joined = 0;
    VERTEX root = 0, u = 0;
    if (live) {
        u64 group = u64(v) / WARP * WARP, past = group + WARP < rows.vertices ? group + WARP : rows.vertices;
        at = rows.row_offsets[v], end = rows.row_offsets[u64(v) + 1];
        root = parent_of(forest.component, v);
        joined = i64(rows.looked_at(rows.row_offsets[group], rows.row_offsets[past]));
        if (in_giant(forest, root)) at = end;
        if (end - at >= HUB) {
            hubs[atomicAdd(&forest.counters[HUBS], 1ull)] = v;
            at = end;
        }
    }
    if (at < end) {
        i64 begin = at, stop = end - at < ALONE ? end : at + ALONE;
        VERTEX tile = v / TILE * TILE;
        for (; at < stop; ++at) {
            // The tree may have been hooked by others meanwhile, perhaps to what is skipped.
            u = rows.columns[at], root = parent_of(forest.component, root);
            if (u >= v && forest.once) at = stop = end;
            if (at == end || (u >= tile && u < v && at - begin < joined)) continue;
            root = join_arc(forest, root, u);
            if (in_giant(forest, root)) at = stop = end;
        }
    }
    __syncwarp();
    u32 left = __ballot_sync(ALL_LANES, at < end);
    while (left) {
        u32 from = take_lowest(left);
        i64 last = __shfl_sync(ALL_LANES, end, from);
        VERTEX row = __shfl_sync(ALL_LANES, v, from), top = __shfl_sync(ALL_LANES, root, from);
        for (i64 i = __shfl_sync(ALL_LANES, at, from); i < last; i += WARP) {
            bool done = false;
            if (i + lane_id() < last) {
                u = rows.columns[i + lane_id()], top = parent_of(forest.component, top);
                done = forest.once && u >= row;
                if (!done) {
                    top = join_arc(forest, top, u);
                    done = in_giant(forest, top);
                }
            }
            if (__any_sync(ALL_LANES, done)) break;
        }
    }
}

// Join the first neighbours of every vertex: a neighbour round of Sutton et al.
__device__ __forceinline__ void join_first(Forest& forest, const Columns& rows) {
    for (u64 v = global_thread(); v < rows.vertices; v += global_threads()) {
        i64 begin = rows.row_offsets[v], end = rows.row_offsets[v + 1];
        VERTEX top = seen_above(forest.component, VERTEX(v));
        for (i64 at = begin; at < end && at < begin + SECOND; ++at) {
            VERTEX other = seen_above(forest.component, rows.columns[at]);
            if (other != top) top = join_in(forest, root_in(forest, top), other);
        }
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK, THREADS / BLOCK)
    afforest_tiles(const i64* row_offsets, const VERTEX* columns, u64 vertices, u64 symmetric, u64 rounds, u64 probes,
             u64 giant, VERTEX* component, u32* linked, VERTEX* roots, VERTEX* hubs, u64* counters, u64* trace) {
    __shared__ Scratch scratch;
    u64* arrivals = &counters[ARRIVALS];
    const Columns rows{row_offsets, columns, vertices, rounds, symmetric != 0};
    Forest forest{vertices, component, counters, NO_VERTEX, false, false};
    VERTEX* queue = scratch.queue[warp_id()];
    auto join_them = [&](VERTEX v, bool live) { join_rows(forest, rows, hubs, v, live); };
    u32 step = 0;
    hook_all(forest, scratch.tile, rows, linked, roots, trace, step);

    u64 v;
    if (probes && sampled(vertices, v)) {
        i64 begin = row_offsets[v], arcs = row_offsets[v + 1] - begin;
        u64 looked = u64(arcs) < probes ? u64(arcs) : probes;
        VERTEX root = parent_of(component, VERTEX(v));
        // The first neighbour was looked at before, so count from the last.
        for (u64 k = 0; k < looked; ++k)
            root = join_arc(forest, root, columns[begin + arcs - 1 - i64(u64(arcs) * k / looked)]);
    }
    mark(trace, step);
    grid_barrier(arrivals);
    mark(trace, step);

#pragma unroll 1
    for (u32 ballot = 0; ballot < 2; ++ballot) {
        forest.giant = choose_giant(forest, linked, symmetric ? giant : u64(NONE), scratch.giant, ballot);
        if (ballot || forest.giant != NO_VERTEX || giant != SAMPLED || !symmetric) break;
        if (row_offsets[vertices] <= i64(vertices) * SHORT) break;
        join_first(forest, rows);
        grid_barrier(arrivals);
    }
    forest.once = symmetric && forest.giant == NO_VERTEX;
    sweep_first(forest, linked, queue, join_them, trace, step);

    u64 split = load_relaxed(&counters[HUBS]);
    // So many blocks for each hub as there are, one at least.
    u32 share = split && split < gridDim.x ? gridDim.x / u32(split) : 1;
    u32 groups = gridDim.x / share;
    for (u64 i = blockIdx.x / share; i < split && blockIdx.x < groups * share; i += groups) {
        VERTEX root = hubs[i];
        i64 end = row_offsets[u64(hubs[i]) + 1];
        for (i64 arc = row_offsets[hubs[i]] + i64(blockIdx.x % share * BLOCK + threadIdx.x); arc < end; arc += i64(share) * BLOCK) {
            VERTEX u = columns[arc];
            root = join_arc(forest, parent_of(component, root), u);
            if (in_giant(forest, root)) break;
        }
    }
    sweep_again(forest, linked, queue, join_them, split, trace, step);
}
