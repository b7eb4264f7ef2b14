// State of a direction-optimizing search, and how a vertex is claimed.
//
// Who includes this has included a row source, sources/columns.cuh or sources/encoded.cuh, which says how rows are
// stored and what a queue entry is:
//
//   MAX_THREADS                 of a block
//   DEFER_ROWS                     whether bottom-up levels defer long rows
//   ONE_PUSH                     whether levels with and without a queue share their code, which then chooses as it runs
//   ONE_HAND_OVER                whether vertices that a lane claimed at once are handed over one after the other
//   SKIPS_EMPTY                  whether it pays to look at extents only where a lane claimed
//   KEEPS_OWNERS                 whether an entry's vertex lies beside it, since the entry does not name it
//   struct Rows                  where the rows lie
//   struct Extent                what is read of a row while its vertex is claimed
//   read_extent(rows, v)
//   row_weight(rows, v)          what reading the row costs, in arcs or in bytes as the layout has it
//   struct Row                   a claimed vertex with its extent: weight(), is_short(), is_long(), units(), drop()
//   claimed_row(rows, extent, v, claimed), listed_row(rows, v), all_units(rows, row)
//   row_of_lane(row, lane)       shuffles it
//   whole_entry(row), part_entry(row, unit)   queue entries, of a short row and of a unit of a long one
//   queue_source(s, v)           puts the entries of the source into the queue, by one warp; how many, and their weight
//
// Bitmaps. `exact` holds every vertex visited so far (and, from the start, the vertices that no arc
// reaches). A bottom-up level reads it and writes `other`, then the two change places: an unvisited vertex
// has a visited neighbour only on the frontier, so no frontier bitmap is needed.
//
// With TREE = 0 (see labels.cuh) a vertex is claimed by the bit that it sets in `exact`; else by an atomicMin
// on its key, and then an arc may be ignored only if its end was visited in an earlier level. `other` lags
// behind, so it says so safely.
//
// A large top-down level (PUSH_UNQUEUED) sets bits and counts vertices, but fills no queue: mostly the next level is
// bottom-up. It starts from a copy of `exact` in `other`, so that ENQUEUE can find its vertices if need be,
// as after a bottom-up level: they are in `exact` and not in `other`.
//
// Queue. One entry per short row, one per unit of a longer row. A warp that claims many long rows at once lists
// them in `hubs` instead, and REDISTRIBUTE has the whole grid cut them up. Every vertex enters once per search, so levels
// lie one behind the other and nothing is reset.

#include "kernels/bfs/cuda/labels.cuh"
#include "kernels/cuda/grid_barrier.cuh"

constexpr u32 MAX_CUT = 64;  // entries that a warp makes of rows that it claimed at once
constexpr VERTEX NO_VERTEX = VERTEX(~VERTEX(0));

// Words of `log`: levels, changes of direction, traced steps; then level << 1 | bottom-up for each change, and
// from TRACE on, for the start, the first steps and the end, level << 8 | step, the frontier's vertices and
// weight, and the clock of block 0's processor when the step began there.
constexpr u32 LOG_LEVELS = 0, LOG_CHANGES = 1, LOG_STEPS = 2, LOG_FIRST = 3;
constexpr u32 MAX_CHANGES = 250;
constexpr u32 TRACE = 256, TRACED_WORDS = 4, MAX_TRACED = 64;

// Names in this order are in search.py too.
enum Step : u32 { START, PUSH, TEAM, REDISTRIBUTE, PUSH_UNQUEUED, PULL, ENQUEUE, DONE };

// Words of `control`, of which there are SIDES copies: a step counts in its own, which is read after the
// barrier and zeroed two steps later, when no block can still be reading it. TAIL counts entries beyond
// Progress::end, HUB_TAIL hubs beyond Progress::hub_end; each has a cache line of its own. `*_LAST` count the
// level that ends a step, `*_PRIOR` those that a team went through before it.
enum Control : u32 { TAIL = 0, HUB_TAIL = 16, LEVEL = 32, FOUND_PRIOR, WEIGHT_PRIOR, FOUND_LAST, WEIGHT_LAST, CONTROL_WORDS = 48 };
constexpr u32 SIDES = 4;

// Queue entries, in device or shared memory.
struct Entries {
    u64* words;
    VERTEX* owners;  // if KEEPS_OWNERS

    __device__ __forceinline__ void write(u64 place, const Entry& entry) const {
        words[place] = entry.word;
        if (KEEPS_OWNERS) owners[place] = entry.owner;
    }

    __device__ __forceinline__ Entry read(u64 place) const {
        return {words[place], KEEPS_OWNERS ? owners[place] : VERTEX(0)};
    }

    // The entry if there is one, else an empty one.
    __device__ __forceinline__ Entry read_if(bool valid, u64 place) const {
        return {valid ? words[place] : 0, KEEPS_OWNERS && valid ? owners[place] : VERTEX(0)};
    }
};

struct Search {
    Rows rows;
    const VERTEX* first_neighbours;  // (words * 32, 2) two neighbours of each vertex, NO_VERTEX where there are fewer
    const VERTEX* planes; // (plane_count, words * 32, IN_PLANE) the next neighbours, likewise
    u32 plane_count;
    u32 arcs_kept;        // arcs at the start of each row that these are; 0 if they are others, chosen by degree
    const u32* closed;    // (words) vertices that no arc reaches, and the bits beyond the last vertex
    u32* exact;
    u32* other;
    i32* distance;
    u64* keys;
    Entries queue;
    VERTEX* hubs;
    u64* control;  // this step's copy
    u64 end;       // of the queue, before this step
    u64 hub_end;
    u64 vertices;
    u64 words;
};

// What all threads of a block know about the search, kept by its first thread.
struct Progress {
    u64 begin, end;  // entries of the queue that are the frontier,
    u64 hub_begin, hub_end;  // and hubs not yet among them
    u64 frontier, frontier_weight;
    u64 visited, visited_weight;
    u64 totals[2];  // vertices and weight found by this block in this step,
    u64 prior[2];   // and in the levels that a team went through before the last
    u64 base;
    u64 team_found, team_weight, team_most, team_own;
    u32 team_counts[2];
    u32 team_spilled;
    u32 epoch;
    u32 staged;
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

// Reserve room in the queue; all lanes call it and get the first place.
__device__ __forceinline__ u64 reserve(const Search& s, u64 entries) {
    u64 base = 0;
    if (lane_id() == 0) base = s.end + atomicAdd(&s.control[TAIL], entries);
    return __shfl_sync(ALL_LANES, base, 0);
}

// Rows of a warp as entries: lane i has units[i] of them. `write(k, entry)` is called for the k-th.
template <class Write>
__device__ __forceinline__ void cut_rows(u32 units, u32 upto, u32 total, const Row& row, const Write& write) {
    for (u32 first = 0; first < total; first += WARP) {
        u32 k = first + lane_id(), from = 0;
#pragma unroll
        for (u32 step = WARP / 2; step; step /= 2)
            if (k >= __shfl_sync(ALL_LANES, upto, from + step - 1)) from += step;
        u32 unit = k - __shfl_sync(ALL_LANES, upto - units, from);
        Row owner = row_of_lane(row, from);
        if (k < total) write(k, part_entry(owner, unit));
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
