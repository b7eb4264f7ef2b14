// Up to 64 searches at once in one cooperative launch (Then et al., The More the Merrier: Efficient
// Multi-Source Graph Traversal, PVLDB 8(4), 2014): a word per vertex, a bit per search. An arc is read once
// for all searches whose frontiers hold its tail. The level loop and the choice of direction are on the device.
//
// `seen` holds the bits of the searches that have reached a vertex up to this level. Top-down, `other`
// collects what the frontier offers, and a second step commits it, so that every offer of one level counts
// for the smallest predecessor. Bottom-up needs a symmetric graph: a neighbour seen by a search that has not
// seen this vertex is on its frontier, so no frontier is kept; `other` receives the new words, and the two
// change places. Between levels that go top-down `other` is zero.
//
// Queue. One entry per vertex of the frontier, or per CHUNK arcs of a longer row: begin << 10 | length - 1,
// beside it the bits that are new and the vertex. A level's entries replace those of the level before. What a
// bottom-up level leaves of long rows becomes entries as well: hubs lie together, and a warp would be alone
// with 32 of them.
//
// TREE = 0: no predecessors. 32 or 33: predecessor is u32 or u64 (searches, vertices), all ones for none, so
// that the minimum of a level's offers is the smallest. `distance` i32 (searches, vertices) is not written if
// `hops` is 0.
//
// Contract. row_offsets i64 (vertices + 1), columns VERTEX sorted by row. masks u64 (2, vertices), found
// VERTEX (vertices), entries: vertices + arcs / CHUNK. Block: a multiple of 32 up to 512. Grid: no more blocks
// than run at the same time.
//
// variants VERTEX: u32 u64
// variants TREE: 0 32 33

#include "kernels/cuda/grid_barrier.cuh"

#if TREE == 33
typedef u64 Tree;
#else
typedef u32 Tree;
#endif

constexpr u32 CHUNK = 128;  // arcs of an entry; at most 1024
constexpr u32 LENGTH_BITS = 10;
constexpr u32 MOST_BLOCK = 512;
constexpr u32 STAGE = 64;   // vertices that a warp holds back before it reserves room
constexpr i64 ALONE = 128;  // arcs that a lane tries bottom-up before its warp helps,
constexpr i64 LONG = 256;   // and those left of a row from which the whole grid does,
constexpr u32 PIECE = 1024; // in entries of so many arcs

// Words of `log`: levels, changes of direction, then level << 1 | bottom-up for each change.
constexpr u32 LOG_LEVELS = 0, LOG_CHANGES = 1, LOG_FIRST = 2, MOST_CHANGES = 250;

// Words of `control`, of which there are SIDES copies: a step counts in its own, which everybody reads after
// the barrier; it is zeroed one step later and used again one step after that.
enum Control : u32 { FOUND = 0, ENTRIES = 16, VERTICES = 32, ARCS = 33, LIVE = 34, CONTROL_WORDS = 48 };
constexpr u32 SIDES = 3;

enum Step : u32 { COMMIT, EXPAND, PULL, REST, ENQUEUE, DONE };

struct Batch {
    const i64* row_offsets;
    const VERTEX* __restrict__ columns;
    u64* seen;
    u64* other;
    i32* distance;
    Tree* predecessor;
    VERTEX* found;
    u64* rows;
    u64* offers;
    VERTEX* owners;
    u64* control;  // this step's copy
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
    u64 vertices = 0, arcs = 0, live = 0;

    __device__ __forceinline__ void add_to(u64* control) {
        vertices = warp_sum(vertices);
        arcs = warp_sum(arcs);
        live = warp_or(live);
        if (lane_id() == 0 && live) {
            if (vertices) atomicAdd(&control[VERTICES], vertices);
            if (arcs) atomicAdd(&control[ARCS], arcs);
            if (live & ~load_relaxed(&control[LIVE])) atomicOr(&control[LIVE], live);
        }
    }
};

// Cut arcs `begin` to `end` of every lane's vertex into entries of `piece` arcs.
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
        i64 row = __shfl_sync(ALL_LANES, begin, from) + i64(k - __shfl_sync(ALL_LANES, upto - pieces, from)) * piece;
        i64 left = __shfl_sync(ALL_LANES, end, from) - row;
        u64 offer = __shfl_sync(ALL_LANES, bits, from);
        VERTEX owner = __shfl_sync(ALL_LANES, vertex, from);
        if (k < total) {
            b.rows[base + k] = u64(row) << LENGTH_BITS | u64((left < piece ? left : piece) - 1);
            b.offers[base + k] = offer;
            b.owners[base + k] = owner;
        }
    }
}

// Make the vertices of a warp that have new bits the frontier.
__device__ __forceinline__ void put_entries(const Batch& b, Counts& counts, VERTEX vertex, u64 bits) {
    i64 begin = bits ? b.row_offsets[vertex] : 0, end = bits ? b.row_offsets[u64(vertex) + 1] : 0;
    counts.vertices += bits != 0;
    counts.arcs += u64(end - begin);
    counts.live |= bits;
    cut(b, vertex, bits, begin, end, CHUNK);
}

// Make what was offered to the found vertices seen, and make them the frontier.
__device__ __forceinline__ void commit(const Batch& b, u64 count, i32 depth) {
    Counts counts;
    for (u64 first = global_thread() - lane_id(); first < count; first += global_threads()) {
        bool mine = first + lane_id() < count;
        VERTEX vertex = mine ? b.found[first + lane_id()] : VERTEX(0);
        u64 bits = 0;
        if (mine) {
            bits = b.other[vertex];
            b.other[vertex] = 0;
            b.seen[vertex] |= bits;
            if (b.hops)
                each_bit(bits, [&](u64 search) { b.distance[search * b.vertices + vertex] = depth; });
        }
        put_entries(b, counts, vertex, bits);
    }
    counts.add_to(b.control);
}

// Make the vertices of a bottom-up level the frontier; `other` holds what was seen before it.
__device__ __forceinline__ void enqueue(const Batch& b) {
    Counts counts;
    for (u64 first = global_thread() - lane_id(); first < b.vertices; first += global_threads()) {
        u64 v = first + lane_id();
        u64 bits = 0;
        if (v < b.vertices) {
            bits = b.seen[v] & ~b.other[v];
            b.other[v] = 0;
        }
        put_entries(b, counts, VERTEX(v), bits);
    }
    counts.add_to(b.control);
}

// Offer bits to a vertex; true for whoever is the first in this level to bring something new.
__device__ __forceinline__ bool offer(const Batch& b, VERTEX vertex, u64 bits, VERTEX owner) {
    bits &= ~b.seen[vertex];
    if (!bits) return false;
    if (TREE)
        each_bit(bits, [&](u64 search) {
            Tree* least = &b.predecessor[search * b.vertices + vertex];
            if (*least > Tree(owner)) atomicMin(least, Tree(owner));
        });
    // A stale word only lacks bits.
    if (!(bits & ~b.other[vertex])) return false;
    return atomicOr(&b.other[vertex], bits) == 0;
}

struct Stage {
    const Batch& b;
    VERTEX* staged;
    u32 held = 0;

    __device__ __forceinline__ void put(bool mine, VERTEX vertex) {
        u32 lanes = __ballot_sync(ALL_LANES, mine);
        if (!lanes) return;
        if (held + __popc(lanes) > STAGE) flush();
        if (mine) staged[held + __popc(lanes & lanes_below())] = vertex;
        held += __popc(lanes);
    }

    __device__ __forceinline__ void flush() {
        if (!held) return;
        u64 base = reserve(&b.control[FOUND], held);
        __syncwarp();
        for (u32 i = lane_id(); i < held; i += WARP) b.found[base + i] = staged[i];
        __syncwarp();
        held = 0;
    }
};

// Offer the bits of the frontier along its arcs.
__device__ __forceinline__ void expand(const Batch& b, u64 entries, VERTEX* staged) {
    Stage stage{b, staged + warp_id() * STAGE};
    u64 warps = global_threads() / WARP;
    u64 share = (entries + warps - 1) / warps;
    share = share < WARP ? share : WARP;
    for (u64 first = (u64(warp_id()) * gridDim.x + blockIdx.x) * share; first < entries; first += warps * share) {
        u64 i = first + lane_id();
        bool valid = lane_id() < share && i < entries;
        u64 row = valid ? b.rows[i] : 0, bits = valid ? b.offers[i] : 0;
        VERTEX owner = valid ? b.owners[i] : VERTEX(0);
        u32 length = valid ? u32(row & ((1u << LENGTH_BITS) - 1)) + 1 : 0;
        i64 begin = i64(row >> LENGTH_BITS);

        u32 whole = __ballot_sync(ALL_LANES, length >= WARP);
        while (whole) {
            u32 from = __ffs(whole) - 1;
            whole &= whole - 1;
            i64 start = __shfl_sync(ALL_LANES, begin, from);
            u32 arcs = __shfl_sync(ALL_LANES, length, from);
            u64 its = __shfl_sync(ALL_LANES, bits, from);
            VERTEX tail = __shfl_sync(ALL_LANES, owner, from);
            for (u32 k = lane_id(); k - lane_id() < arcs; k += WARP) {
                VERTEX head = k < arcs ? b.columns[start + k] : VERTEX(0);
                stage.put(k < arcs && offer(b, head, its, tail), head);
            }
        }

        u32 few = length < WARP ? length : 0;
        u32 upto = warp_inclusive_sum(few);
        u32 total = __shfl_sync(ALL_LANES, upto, WARP - 1);
        for (u32 base = 0; base < total; base += WARP) {
            u32 arc = base + lane_id(), from = 0;
#pragma unroll
            for (u32 step = WARP / 2; step; step /= 2)
                if (arc >= __shfl_sync(ALL_LANES, upto, from + step - 1)) from += step;
            u32 within = arc - __shfl_sync(ALL_LANES, upto - few, from);
            i64 start = __shfl_sync(ALL_LANES, begin, from);
            u64 its = __shfl_sync(ALL_LANES, bits, from);
            VERTEX tail = __shfl_sync(ALL_LANES, owner, from);
            VERTEX head = arc < total ? b.columns[start + within] : VERTEX(0);
            stage.put(arc < total && offer(b, head, its, tail), head);
        }
    }
    stage.flush();
}

__device__ __forceinline__ void write_tree(const Batch& b, u64 vertex, u64 bits, VERTEX predecessor) {
    if (TREE)
        each_bit(bits, [&](u64 search) { b.predecessor[search * b.vertices + vertex] = Tree(predecessor); });
}

// The bits among `open` that a row's neighbours have; all lanes call it. `tell(bits, neighbour)` is called for
// the first neighbour that has a bit.
template <class Tell>
__device__ __forceinline__ u64 search_row(const Batch& b, i64 begin, i64 end, u64 open, const Tell& tell) {
    u64 taken = 0;
    for (i64 i = begin; i < end && open; i += 2 * WARP) {
        VERTEX neighbour[2];
        u64 its[2];
#pragma unroll
        for (u32 k = 0; k < 2; ++k) {
            i64 place = i + k * WARP + lane_id();
            neighbour[k] = b.columns[place < end ? place : end - 1];
        }
#pragma unroll
        for (u32 k = 0; k < 2; ++k) its[k] = b.seen[neighbour[k]];
#pragma unroll
        for (u32 k = 0; k < 2; ++k) {
            u64 mine = its[k] & open, all = warp_or(mine);
            if (TREE && all) tell(mine & ~or_below(mine), neighbour[k]);
            taken |= all;
            open &= ~all;
        }
    }
    return taken;
}

// Every vertex that some search has not seen looks for neighbours that it has. Rows are ascending, so the
// first neighbour with a bit is the smallest predecessor of that search.
__device__ __forceinline__ void pull(const Batch& b, i32 depth) {
    Counts counts;
    for (u64 first = global_thread() - lane_id(); first < b.vertices; first += global_threads()) {
        u64 v = first + lane_id();
        bool inside = v < b.vertices;
        u64 before = inside ? b.seen[v] : b.full;
        u64 wanted = b.live & ~before, gained = 0;
        i64 at = wanted ? b.row_offsets[v] : 0, end = wanted ? b.row_offsets[v + 1] : 0;
        i64 degree = end - at, stop = degree < ALONE ? end : at + ALONE;
        while (at < stop && wanted & ~gained) {
            VERTEX neighbour[4];
            u64 its[4];
#pragma unroll
            for (u32 k = 0; k < 4; ++k) neighbour[k] = b.columns[at + k < end ? at + k : end - 1];
#pragma unroll
            for (u32 k = 0; k < 4; ++k) its[k] = b.seen[neighbour[k]];
#pragma unroll
            for (u32 k = 0; k < 4; ++k) {
                u64 fresh = its[k] & wanted & ~gained;
                gained |= fresh;
                write_tree(b, v, fresh, neighbour[k]);
            }
            at += 4;
        }
        __syncwarp();
        u64 open = at < end ? wanted & ~gained : 0;
        bool later = open && end - at > LONG;
        if (__any_sync(ALL_LANES, later)) cut(b, VERTEX(v), open, later ? at : 0, later ? end : 0, PIECE);
        u32 left = __ballot_sync(ALL_LANES, open && !later);
        while (left) {
            u32 from = __ffs(left) - 1;
            left &= left - 1;
            u64 taken = search_row(b, __shfl_sync(ALL_LANES, at, from), __shfl_sync(ALL_LANES, end, from),
                                   __shfl_sync(ALL_LANES, open, from),
                                   [&](u64 bits, VERTEX neighbour) { write_tree(b, first + from, bits, neighbour); });
            if (lane_id() == from) gained |= taken;
        }
        if (inside) b.other[v] = before | gained;
        write_level(b, v, gained, depth);
        counts.vertices += gained != 0;
        counts.arcs += gained ? u64(degree) : 0;
        counts.live |= gained;
    }
    counts.add_to(b.control);
}

// What bottom-up levels left of long rows. Any warp may find a bit first, and the smallest predecessor last.
__device__ __forceinline__ void pull_rest(const Batch& b, u64 entries, i32 depth) {
    Counts counts;
    u64 warps = global_threads() / WARP;
    for (u64 i = u64(warp_id()) * gridDim.x + blockIdx.x; i < entries; i += warps) {
        u64 row = b.rows[i], v = b.owners[i];
        i64 begin = i64(row >> LENGTH_BITS), end = begin + i64(row & ((1u << LENGTH_BITS) - 1)) + 1;
        u64 taken = search_row(b, begin, end, b.offers[i], [&](u64 bits, VERTEX neighbour) {
            each_bit(bits, [&](u64 search) {
                atomicMin(&b.predecessor[search * b.vertices + v], Tree(neighbour));
            });
        });
        if (!taken) continue;
        u64 known = 0;
        if (lane_id() == 0) known = atomicOr(&b.other[v], taken);
        known = __shfl_sync(ALL_LANES, known, 0);
        for (u32 search = lane_id(); b.hops && search < 64; search += WARP)
            if ((taken & ~known) >> search & 1) b.distance[search * b.vertices + v] = depth;
        if (lane_id() == 0) {
            bool fresh = known == b.seen[v];
            counts.vertices += fresh;
            counts.arcs += fresh ? u64(b.row_offsets[v + 1] - b.row_offsets[v]) : 0;
            counts.live |= taken;
        }
    }
    counts.add_to(b.control);
}

extern "C" __global__ void __launch_bounds__(MOST_BLOCK, 2)
    search(const i64* row_offsets, const VERTEX* columns, u64* masks, i32* distance, Tree* predecessor,
           VERTEX* found, u64* rows, u64* offers, VERTEX* owners, u64* control, u64* log, u64* arrivals,
           u64 vertices, u64 arcs, u64 hops, u64 may_pull, u64 max_depth, double alpha, double beta,
           const i64* sources, u64 searches) {
    __shared__ VERTEX staged[MOST_BLOCK / WARP * STAGE];
    u64 full = searches < 64 ? (1ull << searches) - 1 : ~0ull;
    Batch b{row_offsets, columns, masks, masks + vertices, distance, predecessor, found,
            rows,        offers,  owners, control,         vertices, full,        full,    hops != 0};
    for (u64 v = global_thread(); v < 2 * vertices; v += global_threads()) masks[v] = 0;
    if (TREE)
        for (u64 i = global_thread(); i < searches * vertices; i += global_threads()) predecessor[i] = ~Tree(0);
    if (global_thread() < SIDES * CONTROL_WORDS) control[global_thread()] = 0;
    grid_barrier(arrivals);
    if (blockIdx.x == 0) {
        for (u32 i = threadIdx.x; i < searches; i += blockDim.x) {
            VERTEX source = VERTEX(sources[i]);
            if (atomicOr(&b.other[source], 1ull << i) == 0)
                b.found[atomicAdd(&control[FOUND], 1ull)] = source;
        }
    }
    grid_barrier(arrivals);

    u64 count = load_relaxed(&control[FOUND]), entries = 0, pulled = 0, found_live = 0;
    u32 level = 0, changes = 0, pulling = 0;
    Step step = COMMIT;
    for (u32 steps = 1; step != DONE; ++steps) {
        b.control = control + steps % SIDES * CONTROL_WORDS;
        if ((step == EXPAND || step == PULL) && (!changes || pulling != (step == PULL))) {
            pulling = step == PULL;
            if (global_thread() == 0) log[LOG_FIRST + changes] = u64(level) << 1 | pulling;
            ++changes;
        }
        if (step == COMMIT) commit(b, count, i32(level));
        if (step == EXPAND) expand(b, entries, staged);
        if (step == PULL) pull(b, i32(level + 1));
        if (step == REST) pull_rest(b, entries, i32(level + 1));
        if (step == ENQUEUE) enqueue(b);
        grid_barrier(arrivals);
        count = load_relaxed(&b.control[step == EXPAND ? FOUND : VERTICES]);
        u64 frontier_arcs = load_relaxed(&b.control[ARCS]), live = load_relaxed(&b.control[LIVE]);
        entries = load_relaxed(&b.control[ENTRIES]);
        // The side that the step before this one used, and the step after the next will.
        if (global_thread() < CONTROL_WORDS)
            control[(steps + 2) % SIDES * CONTROL_WORDS + global_thread()] = 0;
        if (step == PULL && entries) {
            pulled = count;
            found_live = live;
            step = REST;
            continue;
        }
        if (step == REST) {
            count += pulled;
            live |= found_live;
            step = PULL;
        }
        // A search that has ended, as in a small component, must not keep every other vertex looking.
        if (step != EXPAND) b.live = live;
        if (step == EXPAND || step == PULL) ++level;
        if (step == PULL) {
            u64* now = b.other;
            b.other = b.seen;
            b.seen = now;
        }
        if (!count || (level >= max_depth && step != EXPAND))
            step = DONE;
        else if (step == EXPAND)
            step = COMMIT;
        else if (step == ENQUEUE)
            step = EXPAND;
        else if (step == COMMIT)
            step = may_pull && changes < MOST_CHANGES && double(frontier_arcs) * alpha > double(arcs) ? PULL : EXPAND;
        else
            step = double(count) * beta < double(vertices) ? ENQUEUE : PULL;
    }
    if (global_thread() == 0) {
        log[LOG_LEVELS] = level;
        log[LOG_CHANGES] = changes;
    }
    for (u64 first = global_thread() - lane_id(); first < vertices; first += global_threads()) {
        u64 v = first + lane_id();
        write_level(b, v, v < vertices ? full & ~b.seen[v] : 0, -1);
    }
}
