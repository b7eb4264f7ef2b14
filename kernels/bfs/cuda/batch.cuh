// State of a batch of up to 64 searches, a bit of a word each, and how vertices become its frontier.
//
// `seen` holds the bits of the searches that have reached a vertex up to this level. Top-down, `other`
// collects what the frontier offers, and a second step commits it, so that every offer of one level counts
// for the smallest predecessor. Bottom-up needs a symmetric graph: a neighbour seen by a search that has not
// seen this vertex is on its frontier, so no frontier is kept; `other` receives the new words, and the two
// change places. Between levels that go top-down `other` is zero.
//
// Queue. One entry per vertex of the frontier, or per part of a longer row as its source cuts it; beside it the bits
// that are new, and the vertex where the entry does not name it. A level's entries replace those of the level before.
// What a bottom-up level leaves of long rows becomes entries as well: hubs lie together, and a warp would be alone
// with 32 of them.
//
// What differs between rows that are columns and rows that are encoded is in sources/batch_columns.cuh and
// sources/batch_encoded.cuh:
//
//   MAX_BLOCK, FEWEST_BLOCKS   threads of a block, and blocks of so many that run on a multiprocessor at once
//   entry_of(v, begin, left, piece)   the entry of at most `piece` of the `left` places of a row from `begin` on; a
//                               place is an arc of the row, or a unit
//   put_entries(b, counts, v, bits)   counts each lane's row, and cuts it into entries, if it has bits
//   owner_of(b, place, entry)   the vertex of an entry
//   expand_entries(b, stage, valid, entry, bits, owner)   offers the bits of an entry of each lane along its arcs
//   scan_alone(b, v, wanted, gained, at, end)   has each lane try neighbours of its own row; gives the row's weight,
//                               and the places `at` to `end` that are left
//   scan_row(b, v, at, end, open, tell), scan_entry(b, entry, open, tell)   the bits among `open` that neighbours
//                               have, which a warp reads; `tell` as for claim_open
//   LONG, PIECE                 places left of which the whole grid reads a row bottom-up, in entries of so many
//
// Weights are arcs or bytes, as the source has them.

#include "kernels/bfs/cuda/sources/rows.cuh"
#include "kernels/cuda/grid_barrier.cuh"
#include "kernels/cuda/lanes.cuh"

#if IS_COLUMNS(LAYOUT)
constexpr bool ENTRIES_NAME_ROWS = false;
#else
constexpr bool ENTRIES_NAME_ROWS = true;
#endif

#if TREE == 33
typedef u64 Tree;
#else
typedef u32 Tree;
#endif

// Words of `control`, of which there are SIDES copies: a step counts in its own, which everybody reads after
// the barrier; it is zeroed one step later and used again one step after that.
enum Control : u32 { FOUND = 0, ENTRIES = 16, VERTICES = 32, WEIGHT = 33, LIVE = 34, CONTROL_WORDS = 48 };
constexpr u32 SIDES = 3;

struct Batch {
    Rows rows;
    u64* seen;
    u64* other;
    i32* distance;
    Tree* predecessor;
    VERTEX* found;
    u64* queue;
    u64* offers;
    VERTEX* owners;  // unless ENTRIES_NAME_ROWS
    u64* control;    // this step's copy
    u64 vertices;
    u64 full;  // the bits of all searches,
    u64 live;  // and of those whose frontier is not empty
    bool hops;
};

__device__ __forceinline__ u64 warp_or(u64 bits) {
    u64 high = __reduce_or_sync(ALL_LANES, u32(bits >> 32));
    return high << 32 | __reduce_or_sync(ALL_LANES, u32(bits));
}

// The bits of the lanes below.
__device__ __forceinline__ u64 or_below(u64 bits) {
    for (u32 step = 1; step < WARP; step *= 2) {
        u64 below = __shfl_up_sync(ALL_LANES, bits, step);
        if (lane_id() >= step) bits |= below;
    }
    bits = __shfl_up_sync(ALL_LANES, bits, 1);
    return lane_id() ? bits : 0;
}

template <class Each>
__device__ __forceinline__ void each_bit(u64 bits, const Each& each) {
    for (; bits; bits &= bits - 1) each(u64(__ffsll(i64(bits)) - 1));
}

// Write a level's distance for every lane's vertex and bits. The vertices of a warp are neighbours, so each
// search gets one line.
__device__ __forceinline__ void write_level(const Batch& b, u64 vertex, u64 bits, i32 depth) {
    if (!b.hops) return;
    each_bit(warp_or(bits), [&](u64 search) {
        if (bits >> search & 1) b.distance[search * b.vertices + vertex] = depth;
    });
}

// Reserve for a warp; all lanes call it and get the first place.
__device__ __forceinline__ u64 reserve(u64* tail, u64 count) {
    u64 base = 0;
    if (lane_id() == 0) base = atomicAdd(tail, count);
    return __shfl_sync(ALL_LANES, base, 0);
}

struct Counts {
    u64 vertices = 0, weight = 0, live = 0;

    __device__ __forceinline__ void add_to(u64* control) {
        vertices = warp_sum(vertices);
        weight = warp_sum(weight);
        live = warp_or(live);
        if (lane_id() == 0 && live) {
            if (vertices) atomicAdd(&control[VERTICES], vertices);
            if (weight) atomicAdd(&control[WEIGHT], weight);
            if (live & ~load_relaxed(&control[LIVE])) atomicOr(&control[LIVE], live);
        }
    }
};

__device__ __forceinline__ u64 entry_of(VERTEX vertex, i64 begin, i64 left, u32 piece);

// Cut places `begin` to `end` of every lane's row into entries of `piece` places.
__device__ __forceinline__ void cut(const Batch& b, VERTEX vertex, u64 bits, i64 begin, i64 end, u32 piece) {
    u64 pieces = (u64(end - begin) + piece - 1) / piece;
    u64 upto = warp_inclusive_sum(pieces);
    u64 total = __shfl_sync(ALL_LANES, upto, WARP - 1);
    if (!total) return;
    u64 base = reserve(&b.control[ENTRIES], total);
    for (u64 first = 0; first < total; first += WARP) {
        u64 k = first + lane_id();
        u32 from = 0;
#pragma unroll
        for (u32 step = WARP / 2; step; step /= 2)
            if (k >= __shfl_sync(ALL_LANES, upto, from + step - 1)) from += step;
        i64 place = __shfl_sync(ALL_LANES, begin, from) + i64(k - __shfl_sync(ALL_LANES, upto - pieces, from)) * piece;
        i64 left = __shfl_sync(ALL_LANES, end, from) - place;
        u64 offer = __shfl_sync(ALL_LANES, bits, from);
        VERTEX owner = __shfl_sync(ALL_LANES, vertex, from);
        if (k < total) {
            b.queue[base + k] = entry_of(owner, place, left, piece);
            b.offers[base + k] = offer;
            if (!ENTRIES_NAME_ROWS) b.owners[base + k] = owner;
        }
    }
}
