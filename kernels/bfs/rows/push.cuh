// Top-down: the arcs of the frontier, claimed one by one.
//
// Light rows are decoded by a lane each, 32 side by side; other units by a warp each. Where a warp has only a few
// light rows it decodes those too as a whole, since a lane alone takes as many steps as the row has neighbours.
// What is decoded goes to a list in shared memory and is claimed from there, so that all lanes claim, whatever
// the layout left them, and several look-ups of a lane overlap.

#include "kernels/bfs/rows/state.cuh"

#ifndef ONE_LANE
#define ONE_LANE 0  // 1: one lane decodes each row for its warp, the baseline of Moschou's report (section 2.3)
#endif

constexpr u32 STAGE = 96;        // entries that a warp holds back before it reserves room in the queue
constexpr u32 STAGE_FULL = 64;
constexpr u32 SIDE_BY_SIDE = 4;  // light rows from which lanes read them
#if LAYOUT_NUMBER_OF(LAYOUT) == 2
constexpr u32 MOST_IN_UNIT = 2 * UNIT_BYTES;  // neighbours: a byte each at least, in up to two stretches of a row
#else
constexpr u32 MOST_IN_UNIT = UNIT_ARCS;
#endif
// Decoded neighbours that a warp lists: those of a unit, and what was there before. It is in cuda/search.py too.
constexpr u32 LISTED = MOST_IN_UNIT + 64;
static_assert(LISTED == (LAYOUT_NUMBER_OF(LAYOUT) == 2 ? 576 : 320), "cuda/search.py reserves as much");
constexpr u32 TOGETHER = 2;       // of a lane that are claimed at once
constexpr VERTEX SAMPLED = 64;   // a flood reads the weight of one in so many vertices

// Where a grid-wide step puts what it claims: staged per warp, so that the tail is rarely touched.
struct GridSink {
    static constexpr bool DIRECT = false, COUNTS_ONLY = false;
    const Search& s;
    u64* entries;
    u32 held = 0;
    u64 found = 0, weight = 0;

    __device__ __forceinline__ GridSink(const Search& search, u64* arena) : s(search), entries(arena + warp_id() * STAGE) {}

    __device__ __forceinline__ void write(u64 base) {
        __syncwarp();
        for (u32 i = lane_id(); i < held; i += WARP) s.queue[base + i] = entries[i];
        __syncwarp();
        held = 0;
    }

    // Keep one entry of each lane in `lanes`, which this lane is in if `mine`.
    __device__ __forceinline__ void put(u32 lanes, bool mine, u64 entry) {
        if (mine) entries[held + __popc(lanes & lanes_below())] = entry;
        held += __popc(lanes);
        if (held >= STAGE_FULL) write(reserve(s, held));
    }

    __device__ __forceinline__ void put_rows(u32 units, u32 upto, u32 total, VERTEX vertex) {
        u64 base = reserve(s, held + total);
        u64 behind = base + held;
        write(base);
        cut_rows(units, upto, total, vertex, [&](u32 k, u64 entry) { s.queue[behind + k] = entry; });
    }

    __device__ __forceinline__ void list(bool mine, VERTEX vertex) { list_hubs(s, mine, vertex); }

    // Empty the block's stages with one reservation, and add up its counts.
    __device__ __forceinline__ void finish(Progress& p) {
        u32 offset = 0;
        if (lane_id() == 0) offset = atomicAdd(&p.held, held);
        offset = __shfl_sync(ALL_LANES, offset, 0);
        __syncthreads();
        if (threadIdx.x == 0) {
            p.base = p.held ? s.end + atomicAdd(&s.control[TAIL], u64(p.held)) : 0;
            p.held = 0;
        }
        __syncthreads();
        write(p.base + offset);
        add_totals(s, p, found, weight);
    }
};

// A sink that only counts: vertices, and weights by a sample. Where vertices are numbered by degree, every 64th
// of them stands for its neighbours, the middle one rather than the first, which is the largest hub of all.
struct Counter {
    static constexpr bool DIRECT = false, COUNTS_ONLY = true;
    u64 found = 0, weight = 0;
    __device__ __forceinline__ void put(u32, bool, u64) {}
    __device__ __forceinline__ void put_rows(u32, u32, u32, VERTEX) {}
    __device__ __forceinline__ void list(bool, VERTEX) {}
};

// Hand over claimed vertices, one per lane at most; all lanes call it.
template <class Sink>
__device__ __forceinline__ void hand_over(const Search& s, Sink& sink, bool fresh, u64 weight, VERTEX vertex) {
    sink.found += fresh;
    if constexpr (Sink::COUNTS_ONLY) return;
    if (!__any_sync(ALL_LANES, fresh)) return;
    u32 entries = fresh ? u32(entries_of(s, vertex, weight)) : 0;
    sink.weight += fresh ? weight : 0;
    if (__any_sync(ALL_LANES, entries > 1)) {
        // Counted in 64 bits, since 32 rows of the largest graphs may have more than 2^32 units.
        u64 upto = warp_inclusive_sum(u64(entries));
        u64 total = __shfl_sync(ALL_LANES, upto, WARP - 1);
        if (total <= MOST_CUT) {
            sink.put_rows(entries, u32(upto), u32(total), vertex);
            return;
        }
        sink.list(entries > 1, vertex);
        if (entries > 1) entries = 0;
    }
    u32 lanes = __ballot_sync(ALL_LANES, entries == 1);
    if (lanes) sink.put(lanes, entries == 1, row_entry(vertex, weight));
}

// Claim K vertices per lane. What their rows weigh is read while the claim is under way.
template <u32 K, class Sink>
__device__ __forceinline__ void claim(const Search& s, Sink& sink, const VERTEX (&vertex)[K], const bool (&live)[K],
                                      const VERTEX (&owner)[K], u32 depth) {
    bool open[K], fresh[K];
    u64 weight[K];
#pragma unroll
    for (u32 k = 0; k < K; ++k)
        open[k] = live[k] && (Sink::DIRECT || !test_bit(TREE ? s.other : s.exact, vertex[k]));
#pragma unroll
    for (u32 k = 0; k < K; ++k) {
        fresh[k] = false;
        weight[k] = 0;
        if (open[k]) {
            if (!Sink::COUNTS_ONLY) weight[k] = row_weight(s.rows, vertex[k]);
            if (TREE) {
                fresh[k] = atomicMin(&s.keys[vertex[k]], make_key(depth, owner[k])) == UNREACHED;
            } else {
                u32 bit = 1u << (vertex[k] & 31);
                fresh[k] = !(atomicOr(&s.exact[vertex[k] >> 5], bit) & bit);
            }
        }
    }
#pragma unroll
    for (u32 k = 0; k < K; ++k) {
        if (fresh[k]) {
            if (TREE)
                set_bit(s.exact, vertex[k]);
            else
                s.distance[vertex[k]] = i32(depth);
            if (Sink::COUNTS_ONLY && vertex[k] % SAMPLED == SAMPLED / 2)
                sink.weight += SAMPLED * row_weight(s.rows, vertex[k]);
        }
        hand_over(s, sink, fresh[k], weight[k], vertex[k]);
    }
}

// A warp's list of decoded neighbours, each with the lane that holds the vertex whose row it is from.
struct List {
    VERTEX* vertices;
    u8* from;  // if TREE
    u32 held = 0;

    __device__ __forceinline__ explicit List(u64* arena) {
        u32 warps = blockDim.x / WARP;
        vertices = reinterpret_cast<VERTEX*>(arena) + warp_id() * LISTED;
        from = reinterpret_cast<u8*>(reinterpret_cast<VERTEX*>(arena) + warps * LISTED) + warp_id() * LISTED;
    }

    // Add one neighbour of each lane that has one; all lanes call it.
    __device__ __forceinline__ void add(VERTEX neighbour, bool valid, u32 lane) {
        u32 lanes = __ballot_sync(ALL_LANES, valid);
        u32 place = held + __popc(lanes & lanes_below());
        if (valid && place < LISTED) {
            vertices[place] = neighbour;
            if (TREE) from[place] = u8(lane);
        }
        held += __popc(lanes);
    }

    // Claim what is listed; `owner` is this lane's.
    template <class Sink>
    __device__ __forceinline__ void claim_all(const Search& s, Sink& sink, VERTEX owner, u32 depth) {
        constexpr u32 K = Sink::COUNTS_ONLY ? 2 * TOGETHER : TOGETHER;
        u32 count = held < LISTED ? held : LISTED;
        held = 0;
        __syncwarp();
#pragma unroll 1
        for (u32 first = 0; first < count; first += K * WARP) {
            VERTEX vertex[K], owners[K];
            bool live[K];
#pragma unroll
            for (u32 k = 0; k < K; ++k) {
                u32 place = first + k * WARP + lane_id();
                live[k] = place < count;
                vertex[k] = live[k] ? vertices[place] : VERTEX(0);
                owners[k] = TREE ? __shfl_sync(ALL_LANES, owner, live[k] ? from[place] : 0) : VERTEX(0);
            }
            claim<K>(s, sink, vertex, live, owners, depth);
        }
        __syncwarp();
    }
};

// Shared memory behind the lists of a block; the words that those take are in cuda/search.py too.
__device__ __forceinline__ u64* behind_lists(u64* arena) {
    return arena + blockDim.x / WARP * LISTED * (sizeof(VERTEX) + 1) / sizeof(u64);
}

// Lane 0 decodes a row, 32 neighbours at a time, of which then each lane takes one. Rows are not cut into units.
template <class Sink>
__device__ __forceinline__ void expand_by_one_lane(const Search& s, Sink& sink, List& list, u64 v, u32 from, VERTEX owner,
                                                   u32 depth) {
    Cursor cursor = open_row(s.rows, v);
    for (bool more = true; more;) {
        VERTEX mine = VERTEX(0);
        u32 count = 0;
        for (; count < WARP; ++count) {
            VERTEX neighbour = VERTEX(0);
            u32 found = lane_id() == 0 && next_neighbour(s.rows, cursor, neighbour);
            if (!__shfl_sync(ALL_LANES, found, 0)) break;
            neighbour = __shfl_sync(ALL_LANES, neighbour, 0);
            if (lane_id() == count) mine = neighbour;
        }
        list.add(mine, lane_id() < count, from);
        more = count == WARP;
        if (list.held + WARP > LISTED) list.claim_all(s, sink, owner, depth);
    }
}

// Expand one entry per lane; all lanes call it.
template <class Sink>
__device__ __forceinline__ void expand(const Search& s, Sink& sink, List& list, bool valid, u64 entry, u32 depth) {
    VERTEX owner = VERTEX(entry >> UNIT_BITS);
    u64 unit = entry & WHOLE_ROW;
    if (TREE && !Sink::DIRECT && !Sink::COUNTS_ONLY && valid) set_bit(s.other, owner);
    if (ONE_LANE) {
        for (u32 rows = __ballot_sync(ALL_LANES, valid); rows; rows &= rows - 1) {
            u32 from = __ffs(rows) - 1;
            expand_by_one_lane(s, sink, list, __shfl_sync(ALL_LANES, owner, from), from, owner, depth);
        }
        list.claim_all(s, sink, owner, depth);
        return;
    }
    bool light = valid && unit == WHOLE_ROW;
    bool alone = __popc(__ballot_sync(ALL_LANES, light)) >= SIDE_BY_SIDE;
    if (light) unit = 0;
    bool more = light && alone;
    u32 whole = __ballot_sync(ALL_LANES, valid && !more);
    Cursor cursor{};
    if (more) cursor = open_row(s.rows, owner);
    // One loop, so that there is one place where neighbours are claimed.
#pragma unroll 1
    while (whole || alone) {
        if (whole) {
            u32 from = __ffs(whole) - 1;
            whole &= whole - 1;
            visit_unit(s.rows, __shfl_sync(ALL_LANES, owner, from), __shfl_sync(ALL_LANES, unit, from),
                       [&](VERTEX neighbour, bool there) {
                           list.add(neighbour, there, from);
                           return true;
                       });
        } else {
            do {
                VERTEX neighbour = VERTEX(0);
                more = more && next_neighbour(s.rows, cursor, neighbour);
                list.add(neighbour, more, lane_id());
                alone = __any_sync(ALL_LANES, more);
            } while (alone && list.held + WARP <= LISTED);
        }
        if (list.held > LISTED - MOST_IN_UNIT || !(whole || alone)) list.claim_all(s, sink, owner, depth);
    }
}

// Entries that a warp takes at once: as few as keep all warps busy, but `least` so that lanes are.
__device__ __forceinline__ u32 entries_per_warp(u64 entries, u64 warps, u32 least) {
    u64 share = (entries + warps - 1) / warps;
    return share < least ? least : share > WARP ? WARP : u32(share);
}

// Expand the frontier's entries over the whole grid.
template <class Sink>
__device__ __forceinline__ void expand_all(const Search& s, Sink& sink, const Progress& p, u64* arena) {
    List list(arena);
    u64 begin = p.begin, end = p.end;
    u32 depth = p.level + 1;
    u64 warps = global_threads() / WARP;
    u32 share = entries_per_warp(end - begin, warps, 1);
    // Neighbouring entries go to different multiprocessors: hubs lie together in the queue.
    for (u64 first = begin + (u64(warp_id()) * gridDim.x + blockIdx.x) * share; first < end; first += warps * share) {
        u64 i = first + lane_id();
        bool valid = lane_id() < share && i < end;
        expand(s, sink, list, valid, valid ? s.queue[i] : 0, depth);
    }
}

__device__ __forceinline__ void push(const Search& s, Progress& p, u64* arena) {
    GridSink sink(s, behind_lists(arena));
    expand_all(s, sink, p, arena);
    sink.finish(p);
}

// Between levels: cut the listed hubs into entries, and copy `exact` to `other` for a flood.
__device__ __forceinline__ void deal(const Search& s, const Progress& p) {
    for (u64 i = p.hub_begin + u64(warp_id()) * gridDim.x + blockIdx.x; i < p.hub_end; i += global_threads() / WARP) {
        VERTEX hub = s.hubs[i];
        u64 units = row_units(s.rows, hub);
        u64 base = reserve(s, units);
        for (u64 unit = lane_id(); unit < units; unit += WARP) s.queue[base + unit] = make_entry(hub, unit);
    }
    for (u64 word = global_thread(); word < s.words; word += global_threads()) s.other[word] = s.exact[word];
}

__device__ __forceinline__ void flood(const Search& s, Progress& p, u64* arena) {
    Counter sink;
    expand_all(s, sink, p, arena);
    add_totals(s, p, sink.found, sink.weight);
}

// Put the vertices of the last level into the queue: they are in `exact` and not in `other`.
__device__ __forceinline__ void enqueue(const Search& s, Progress& p, u64* arena) {
    GridSink sink(s, arena);
    for (u64 base = global_thread() - lane_id(); base < s.words; base += global_threads()) {
        u64 word = base + lane_id();
        u32 bits = word < s.words ? s.exact[word] & ~s.other[word] : 0;
        while (__any_sync(ALL_LANES, bits)) {
            bool some = bits != 0;
            VERTEX vertex = some ? VERTEX(word * 32 + __ffs(bits) - 1) : VERTEX(0);
            bits &= bits - 1;
            hand_over(s, sink, some, some ? row_weight(s.rows, vertex) : 0, vertex);
        }
    }
    sink.found = 0;  // they were counted when they were found
    sink.finish(p);
}
