// State of a direction-optimizing search, and how a vertex is claimed.
//
// Bitmaps. `exact` holds every vertex visited so far (and, from the start, the vertices that no arc
// reaches). A bottom-up level reads it and writes `other`, then the two change places: an unvisited vertex
// has a visited neighbour only on the frontier, so no frontier bitmap is needed.
//
// With TREE = 0 (see labels.cuh) a vertex is claimed by the bit that it sets in `exact`; else by an atomicMin
// on its key, and then an arc may be ignored only if its end was visited in an earlier level. `other` lags
// behind, so it says so safely.
//
// A large top-down level (FLOOD) sets bits and counts vertices, but fills no queue: mostly the next level is
// bottom-up. It starts from a copy of `exact` in `other`, so that ENQUEUE can find its vertices if need be,
// as after a bottom-up level: they are in `exact` and not in `other`.
//
// Queue. One entry per claimed vertex, or per CHUNK arcs of a longer row: begin << 10 | length - 1. A warp
// that claims many hubs at once lists them in `hubs` instead, and DEAL has the whole grid cut them up. Every
// vertex enters once per search, so levels lie one behind the other and nothing is reset.

#include "kernels/bfs/labels.cuh"
#include "kernels/cuda/grid_barrier.cuh"

constexpr u32 CHUNK = 128;          // arcs of a queue entry; at most 1024, the entry's 10 bits
constexpr u32 LENGTH_BITS = 10;
constexpr u32 MOST_CUT = 64;       // entries that a warp makes of rows that it claimed at once
constexpr VERTEX NO_VERTEX = VERTEX(~VERTEX(0));

// Words of `log`: levels, changes of direction, traced steps; then level << 1 | bottom-up for each change, and
// from TRACE on, for the start, the first steps and the end, level << 8 | step, the frontier's vertices and
// arcs, and the clock of block 0's processor when the step began there.
constexpr u32 LOG_LEVELS = 0, LOG_CHANGES = 1, LOG_STEPS = 2, LOG_FIRST = 3;
constexpr u32 MOST_CHANGES = 250;
constexpr u32 TRACE = 256, TRACED_WORDS = 4, MOST_TRACED = 64;

// Names in this order are in direction_optimizing.py too.
enum Step : u32 { START, PUSH, TEAM, DEAL, FLOOD, PULL, ENQUEUE, DONE };

// Words of `control`, of which there are SIDES copies: a step counts in its own, which is read after the
// barrier and zeroed two steps later, when no block can still be reading it. TAIL counts entries beyond
// Progress::end, HUB_TAIL hubs beyond Progress::hub_end; each has a cache line of its own. `*_last` count the level that ends a step, `*_prior` those
// that a team went through before it.
enum Control : u32 { TAIL = 0, HUB_TAIL = 16, LEVEL = 32, FOUND_PRIOR, ARCS_PRIOR, FOUND_LAST, ARCS_LAST, CONTROL_WORDS = 48 };
constexpr u32 SIDES = 4;

struct Search {
    const i64* row_offsets;
    const VERTEX* columns;
    const VERTEX* heads;  // (words * 32, 2) the first two neighbours, NO_VERTEX where there are fewer
    const VERTEX* planes; // (plane_count, words * 32, IN_PLANE) the next neighbours, likewise
    u32 plane_count;
    const u32* closed;    // (words) vertices that no arc reaches, and the bits beyond the last vertex
    u32* exact;
    u32* other;
    i32* distance;
    u64* keys;
    u64* queue;
    VERTEX* owners;  // of the entries of `queue`, if TREE
    u64* control;  // this step's copy
    u64 end;       // of the queue, before this step
    VERTEX* hubs;
    u64 hub_end;
    u64 vertices;
    u64 words;
};

// What all threads of a block know about the search, kept by its first thread.
struct Progress {
    u64 begin, end;  // entries of the queue that are the frontier,
    u64 hub_begin, hub_end;  // and hubs not yet among them
    u64 frontier, frontier_arcs;
    u64 visited, visited_arcs;
    u64 totals[2];  // vertices and arcs found by this block in this step,
    u64 prior[2];   // and in the levels that a team went through before the last
    u64 base;
    u64 team_found, team_arcs, team_most, team_own;
    u32 team_counts[2];
    u32 team_spilled;
    u32 epoch;
    u32 held;
    u32 level;
    u32 step;
    u32 small_pulls;
    u32 changes;
    u32 steps;  // done so far
    u32 pulling;
    u32 exact_side;
};

__device__ __forceinline__ bool test_bit(const u32* bitmap, VERTEX vertex) {
    return bitmap[vertex >> 5] >> (vertex & 31) & 1;
}

__device__ __forceinline__ void set_bit(u32* bitmap, VERTEX vertex) {
    atomicOr(&bitmap[vertex >> 5], 1u << (vertex & 31));
}

// Record a vertex that this thread alone has found.
__device__ __forceinline__ void record(const Search& s, VERTEX vertex, u32 depth, VERTEX predecessor) {
    if (TREE)
        s.keys[vertex] = make_key(depth, predecessor);
    else
        s.distance[vertex] = i32(depth);
}

__device__ __forceinline__ u64 make_entry(i64 begin, u32 length) {
    return u64(begin) << LENGTH_BITS | (length - 1);
}

__device__ __forceinline__ void write_entry(const Search& s, u64 position, u64 entry, VERTEX owner) {
    s.queue[position] = entry;
    if (TREE) s.owners[position] = owner;
}

// Reserve room in the queue; all lanes call it and get the first place.
__device__ __forceinline__ u64 reserve(const Search& s, u64 entries) {
    u64 base = 0;
    if (lane_id() == 0) base = s.end + atomicAdd(&s.control[TAIL], entries);
    return __shfl_sync(ALL_LANES, base, 0);
}

// Rows of a warp as entries: lane i has chunks[i] of them. `write(k, entry, owner)` is called for the k-th.
template <class Write>
__device__ __forceinline__ void cut_rows(u32 chunks, u32 upto, u32 total, i64 begin, i64 degree, VERTEX vertex,
                                         const Write& write) {
    for (u32 first = 0; first < total; first += WARP) {
        u32 k = first + lane_id(), from = 0;
#pragma unroll
        for (u32 step = WARP / 2; step; step /= 2)
            if (k >= __shfl_sync(ALL_LANES, upto, from + step - 1)) from += step;
        i64 offset = i64(k - __shfl_sync(ALL_LANES, upto - chunks, from)) * CHUNK;
        i64 row = __shfl_sync(ALL_LANES, begin, from), left = __shfl_sync(ALL_LANES, degree, from) - offset;
        VERTEX owner = __shfl_sync(ALL_LANES, vertex, from);
        if (k < total) write(k, make_entry(row + offset, left < CHUNK ? u32(left) : CHUNK), owner);
    }
}

// List the rows of some lanes as hubs.
__device__ __forceinline__ void list_hubs(const Search& s, bool mine, VERTEX vertex) {
    u32 lanes = __ballot_sync(ALL_LANES, mine);
    u64 base = 0;
    if (lane_id() == 0) base = s.hub_end + atomicAdd(&s.control[HUB_TAIL], u64(__popc(lanes)));
    base = __shfl_sync(ALL_LANES, base, 0);
    if (mine) s.hubs[base + __popc(lanes & lanes_below())] = vertex;
}

// Add what this block counted to two words of `control`.
__device__ __forceinline__ void add_totals(const Search& s, Progress& p, u64 found, u64 arcs) {
    found = warp_sum(found);
    arcs = warp_sum(arcs);
    if (lane_id() == 0) {
        if (found) atomicAdd(&p.totals[0], found);
        if (arcs) atomicAdd(&p.totals[1], arcs);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        if (p.totals[0]) atomicAdd(&s.control[FOUND_LAST], p.totals[0]);
        if (p.totals[1]) atomicAdd(&s.control[ARCS_LAST], p.totals[1]);
        p.totals[0] = p.totals[1] = 0;
    }
}
