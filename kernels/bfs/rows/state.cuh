// State of a search that reads rows through their layout (see kernels/layouts), and its queue.
//
// Bitmaps, labels and claims are those of kernels/bfs/search.cuh: `exact` holds every vertex visited so far,
// a bottom-up level reads it and writes `other`, then the two change places. With TREE = 0 a vertex is claimed
// by its bit in `exact`, else by an atomicMin on its key, and then an arc may be ignored only if its end is in
// `other`, which lags behind.
//
// Queue. A row is what its layout can read independently: row_units(v) units, of which each is an entry
// vertex << UNIT_BITS | unit. A row of LIGHT_WEIGHT or less is the entry WHOLE_ROW, which a lane may read alone.
// A warp that claims many long rows at once lists them in `hubs` instead, and DEAL has the whole grid cut them
// up. Every vertex enters once per search, so levels lie one behind the other and nothing is reset.
//
// Weights. What a level costs is known by row_weight(v), bytes or arcs as the layout has it; `Tuning` brings
// limits that are given in arcs to that scale.

#include "kernels/bfs/labels.cuh"
#include "kernels/cuda/grid_barrier.cuh"
#include "kernels/layouts/cursor.cuh"

constexpr u32 UNIT_BITS = sizeof(VERTEX) == 4 ? 32 : 28;
constexpr u64 WHOLE_ROW = (1ull << UNIT_BITS) - 1;
// Threads of a block: fewer than columns take, since decoding needs more registers than 64.
constexpr u32 MOST_THREADS = sizeof(VERTEX) == 4 ? 768 : 512;
constexpr u32 MOST_CUT = 64;  // entries that a warp makes of rows that it claimed at once
constexpr VERTEX NO_VERTEX = VERTEX(~VERTEX(0));
constexpr bool FAR_ROWS = true;  // decoding leaves room for what kernels/bfs/pull.cuh may do without

// Words of `log`: levels, changes of direction, traced steps; then level << 1 | bottom-up for each change, and
// from TRACE on, for the start, the first steps and the end, level << 8 | step, the frontier's vertices and
// weight, and the clock of block 0's processor when the step began there. They are in cuda.py too.
constexpr u32 LOG_LEVELS = 0, LOG_CHANGES = 1, LOG_STEPS = 2, LOG_FIRST = 3;
constexpr u32 MOST_CHANGES = 250;
constexpr u32 TRACE = 256, TRACED_WORDS = 4, MOST_TRACED = 64;

// Names in this order are in cuda.py too.
enum Step : u32 { START, PUSH, TEAM, DEAL, FLOOD, PULL, ENQUEUE, DONE };

// Words of `control`, of which there are SIDES copies: a step counts in its own, which is read after the
// barrier and zeroed two steps later, when no block can still be reading it. TAIL counts entries beyond
// Progress::end, HUB_TAIL hubs beyond Progress::hub_end; each has a cache line of its own. `*_LAST` count the
// level that ends a step, `*_PRIOR` those that a team went through before it.
enum Control : u32 { TAIL = 0, HUB_TAIL = 16, LEVEL = 32, FOUND_PRIOR, WEIGHT_PRIOR, FOUND_LAST, WEIGHT_LAST, CONTROL_WORDS = 48 };
constexpr u32 SIDES = 4;

struct Search {
    Rows rows;
    const VERTEX* heads;  // (words * 32, 2) the first two neighbours, NO_VERTEX where there are fewer
    const VERTEX* planes; // (plane_count, words * 32, IN_PLANE) the next neighbours, likewise
    u32 plane_count;
    const u32* closed;    // (words) vertices that no arc reaches, and the bits beyond the last vertex
    u32* exact;
    u32* other;
    i32* distance;
    u64* keys;
    u64* queue;
    VERTEX* hubs;
    u64* control;  // this step's copy
    u64 end;       // of the queue, before this step
    u64 hub_end;
    u64 vertices;
    u64 words;
};

// What all threads of a block know about the search, kept by its first thread.
struct Progress {
    u64 begin, end;          // entries of the queue that are the frontier,
    u64 hub_begin, hub_end;  // and hubs not yet among them
    u64 frontier, frontier_weight;
    u64 visited, visited_weight;
    u64 totals[2];  // vertices and weight found by this block in this step
    u64 base;
    u64 team_found, team_weight, team_most, team_own;
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

__device__ __forceinline__ u64 make_entry(VERTEX vertex, u64 unit) { return u64(vertex) << UNIT_BITS | unit; }

// Entries that a row makes; units are looked up only where there may be more than one.
__device__ __forceinline__ u64 entries_of(const Search& s, VERTEX vertex, u64 weight) {
    return weight <= LIGHT_WEIGHT ? weight != 0 : row_units(s.rows, vertex);
}

// The entry of a row that makes one.
__device__ __forceinline__ u64 row_entry(VERTEX vertex, u64 weight) {
    return make_entry(vertex, weight <= LIGHT_WEIGHT ? WHOLE_ROW : 0);
}

// Reserve room in the queue; all lanes call it and get the first place.
__device__ __forceinline__ u64 reserve(const Search& s, u64 entries) {
    u64 base = 0;
    if (lane_id() == 0) base = s.end + atomicAdd(&s.control[TAIL], entries);
    return __shfl_sync(ALL_LANES, base, 0);
}

// Rows of a warp as entries: lane i has units[i] of them. `write(k, entry)` is called for the k-th.
template <class Write>
__device__ __forceinline__ void cut_rows(u32 units, u32 upto, u32 total, VERTEX vertex, const Write& write) {
    for (u32 first = 0; first < total; first += WARP) {
        u32 k = first + lane_id(), from = 0;
#pragma unroll
        for (u32 step = WARP / 2; step; step /= 2)
            if (k >= __shfl_sync(ALL_LANES, upto, from + step - 1)) from += step;
        u32 unit = k - __shfl_sync(ALL_LANES, upto - units, from);
        VERTEX owner = __shfl_sync(ALL_LANES, vertex, from);
        if (k < total) write(k, make_entry(owner, unit));
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
__device__ __forceinline__ void add_totals(const Search& s, Progress& p, u64 found, u64 weight) {
    found = warp_sum(found);
    weight = warp_sum(weight);
    if (lane_id() == 0) {
        if (found) atomicAdd(&p.totals[0], found);
        if (weight) atomicAdd(&p.totals[1], weight);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        if (p.totals[0]) atomicAdd(&s.control[FOUND_LAST], p.totals[0]);
        if (p.totals[1]) atomicAdd(&s.control[WEIGHT_LAST], p.totals[1]);
        p.totals[0] = p.totals[1] = 0;
    }
}
