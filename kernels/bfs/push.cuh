// Top-down: the arcs of the frontier, claimed one by one.
//
// Rows are binned by degree: up to 31 arcs are dealt to lanes by a warp scan, up to CHUNK go to a warp, and
// longer ones are split into entries of CHUNK arcs, which any warps of the grid take.

#include "kernels/bfs/search.cuh"

constexpr u32 STAGE = 96;        // entries that a warp holds back before it reserves room in the queue
constexpr u32 STAGE_FULL = 64;

// Where a grid-wide step puts what it claims: staged per warp, so that the tail is rarely touched.
struct GridSink {
    static constexpr bool DIRECT = false, COUNTS_ONLY = false;
    const Search& s;
    u64* entries;
    VERTEX* owners;
    u32 held = 0;
    u64 found = 0, arcs = 0;

    __device__ __forceinline__ GridSink(const Search& search, u64* arena) : s(search) {
        entries = arena + warp_id() * STAGE;
        owners = reinterpret_cast<VERTEX*>(arena + blockDim.x / WARP * STAGE) + warp_id() * STAGE;
    }

    __device__ __forceinline__ void write(u64 base) {
        __syncwarp();
        for (u32 i = lane_id(); i < held; i += WARP)
            write_entry(s, base + i, entries[i], TREE ? owners[i] : VERTEX(0));
        __syncwarp();
        held = 0;
    }

    // Keep one entry of each lane in `lanes`, which this lane is in if `mine`.
    __device__ __forceinline__ void put(u32 lanes, bool mine, i64 begin, i64 degree, VERTEX vertex) {
        if (mine) {
            u32 place = held + __popc(lanes & lanes_below());
            entries[place] = make_entry(begin, u32(degree));
            if (TREE) owners[place] = vertex;
        }
        held += __popc(lanes);
        if (held >= STAGE_FULL) write(reserve(s, held));
    }

    __device__ __forceinline__ void put_rows(u32 chunks, u32 upto, u32 total, i64 begin, i64 degree, VERTEX vertex) {
        u64 base = reserve(s, held + total);
        u64 behind = base + held;
        write(base);
        cut_rows(chunks, upto, total, begin, degree, vertex,
                 [&](u32 k, u64 entry, VERTEX owner) { write_entry(s, behind + k, entry, owner); });
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
        add_totals(s, p, found, arcs);
    }
};

constexpr VERTEX SAMPLED = 64;  // a flood reads the degree of one in so many vertices

// A sink that only counts: vertices, and arcs by a sample. Where vertices are numbered by degree, every 64th
// of them stands for its neighbours, the middle one rather than the first, which is the largest hub of all.
struct Counter {
    static constexpr bool DIRECT = false, COUNTS_ONLY = true;
    u64 found = 0, arcs = 0;
    __device__ __forceinline__ void put(u32, bool, i64, i64, VERTEX) {}
    __device__ __forceinline__ void put_rows(u32, u32, u32, i64, i64, VERTEX) {}
    __device__ __forceinline__ void list(bool, VERTEX) {}
};

// Hand over claimed vertices, one per lane at most; all lanes call it.
template <class Sink>
__device__ __forceinline__ void hand_over(Sink& sink, bool fresh, i64 begin, i64 end, VERTEX vertex) {
    sink.found += fresh;
    if constexpr (Sink::COUNTS_ONLY) return;
    i64 degree = fresh ? end - begin : 0;
    sink.arcs += u64(degree);
    if (__any_sync(ALL_LANES, degree > CHUNK)) {
        u32 chunks = u32((degree + CHUNK - 1) / CHUNK);
        u32 upto = warp_inclusive_sum(chunks);
        u32 total = __shfl_sync(ALL_LANES, upto, WARP - 1);
        if (total <= MOST_CUT) {
            sink.put_rows(chunks, upto, total, begin, degree, vertex);
            return;
        }
        sink.list(degree > CHUNK, vertex);
        if (degree > CHUNK) degree = 0;
    }
    u32 lanes = __ballot_sync(ALL_LANES, degree > 0);
    if (lanes) sink.put(lanes, degree > 0, begin, degree, vertex);
}

// Claim the ends of K arcs per lane. The offsets are read while the claim is under way.
template <u32 K, class Sink>
__device__ __forceinline__ void claim(const Search& s, Sink& sink, const VERTEX (&vertex)[K], const bool (&live)[K],
                                      const VERTEX (&owner)[K], u32 depth) {
    bool open[K], fresh[K];
    i64 begin[K], end[K];
#pragma unroll
    for (u32 k = 0; k < K; ++k)
        open[k] = live[k] && (Sink::DIRECT || !test_bit(TREE ? s.other : s.exact, vertex[k]));
#pragma unroll
    for (u32 k = 0; k < K; ++k) {
        fresh[k] = false;
        begin[k] = end[k] = 0;
        if (open[k]) {
            if (!Sink::COUNTS_ONLY) {
                begin[k] = __ldg(&s.row_offsets[vertex[k]]);
                end[k] = __ldg(&s.row_offsets[u64(vertex[k]) + 1]);
            }
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
                sink.arcs += SAMPLED * u64(s.row_offsets[u64(vertex[k]) + 1] - s.row_offsets[vertex[k]]);
        }
        hand_over(sink, fresh[k], begin[k], end[k], vertex[k]);
    }
}

// Expand one entry per lane (length 0 for none); all lanes call it.
template <class Sink>
__device__ __forceinline__ void expand(const Search& s, Sink& sink, bool valid, u64 entry, VERTEX owner, u32 depth) {
    u32 length = valid ? u32(entry & ((1u << LENGTH_BITS) - 1)) + 1 : 0;
    i64 begin = i64(entry >> LENGTH_BITS);
    if (TREE && !Sink::DIRECT && !Sink::COUNTS_ONLY && valid) set_bit(s.other, owner);

    u32 whole = __ballot_sync(ALL_LANES, length >= WARP);
    while (whole) {
        u32 from = __ffs(whole) - 1;
        whole &= whole - 1;
        i64 row = __shfl_sync(ALL_LANES, begin, from);
        u32 arcs = __shfl_sync(ALL_LANES, length, from);
        VERTEX tail = TREE ? __shfl_sync(ALL_LANES, owner, from) : VERTEX(0);
        constexpr u32 K = Sink::COUNTS_ONLY ? 4 : 2;
        for (u32 i = lane_id(); i - lane_id() < arcs; i += K * WARP) {
            VERTEX vertex[K], tails[K];
            bool live[K];
#pragma unroll
            for (u32 k = 0; k < K; ++k) {
                live[k] = i + k * WARP < arcs;
                vertex[k] = live[k] ? __ldg(&s.columns[row + i + k * WARP]) : VERTEX(0);
                tails[k] = tail;
            }
            claim<K>(s, sink, vertex, live, tails, depth);
        }
    }

    u32 few = length < WARP ? length : 0;
    u32 upto = warp_inclusive_sum(few);
    u32 total = __shfl_sync(ALL_LANES, upto, WARP - 1);
    constexpr u32 K = Sink::DIRECT ? 1 : 2;
    for (u32 first = 0; first < total; first += K * WARP) {
        VERTEX vertex[K], tails[K];
        bool live[K];
#pragma unroll
        for (u32 k = 0; k < K; ++k) {
            u32 arc = first + k * WARP + lane_id();
            live[k] = arc < total;
            u32 from = 0;
#pragma unroll
            for (u32 step = WARP / 2; step; step /= 2)
                if (arc >= __shfl_sync(ALL_LANES, upto, from + step - 1)) from += step;
            u32 within = arc - __shfl_sync(ALL_LANES, upto - few, from);
            i64 row = __shfl_sync(ALL_LANES, begin, from);
            tails[k] = TREE ? __shfl_sync(ALL_LANES, owner, from) : VERTEX(0);
            vertex[k] = live[k] ? __ldg(&s.columns[row + within]) : VERTEX(0);
        }
        claim<K>(s, sink, vertex, live, tails, depth);
    }
}

// Entries that a warp takes at once: as few as keep all warps busy, but `least` so that lanes are.
__device__ __forceinline__ u32 entries_per_warp(u64 entries, u64 warps, u32 least) {
    u64 share = (entries + warps - 1) / warps;
    return share < least ? least : share > WARP ? WARP : u32(share);
}

// Expand the frontier's entries over the whole grid.
template <class Sink>
__device__ __forceinline__ void expand_all(const Search& s, Sink& sink, const Progress& p) {
    u64 begin = p.begin, end = p.end;
    u32 depth = p.level + 1;
    u64 warps = global_threads() / WARP;
    u32 share = entries_per_warp(end - begin, warps, 1);
    // Neighbouring entries go to different multiprocessors: hubs lie together in the queue.
    for (u64 first = begin + (u64(warp_id()) * gridDim.x + blockIdx.x) * share; first < end; first += warps * share) {
        u64 i = first + lane_id();
        bool valid = lane_id() < share && i < end;
        expand(s, sink, valid, valid ? s.queue[i] : 0, TREE && valid ? s.owners[i] : VERTEX(0), depth);
    }
}

__device__ __forceinline__ void push(const Search& s, Progress& p, u64* arena) {
    GridSink sink(s, arena);
    expand_all(s, sink, p);
    sink.finish(p);
}

// Between levels: cut the listed hubs into entries, and copy `exact` to `other` for a flood.
__device__ __forceinline__ void deal(const Search& s, const Progress& p) {
    for (u64 i = p.hub_begin + u64(warp_id()) * gridDim.x + blockIdx.x; i < p.hub_end; i += global_threads() / WARP) {
        VERTEX hub = s.hubs[i];
        i64 begin = s.row_offsets[hub], degree = s.row_offsets[u64(hub) + 1] - begin;
        u64 chunks = (u64(degree) + CHUNK - 1) / CHUNK;
        u64 base = reserve(s, chunks);
        for (u64 k = lane_id(); k < chunks; k += WARP) {
            i64 left = degree - i64(k) * CHUNK;
            write_entry(s, base + k, make_entry(begin + i64(k) * CHUNK, left < CHUNK ? u32(left) : CHUNK), hub);
        }
    }
    for (u64 word = global_thread(); word < s.words; word += global_threads()) s.other[word] = s.exact[word];
}

__device__ __forceinline__ void flood(const Search& s, Progress& p) {
    Counter sink;
    expand_all(s, sink, p);
    add_totals(s, p, sink.found, sink.arcs);
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
            i64 begin = some ? __ldg(&s.row_offsets[vertex]) : 0;
            i64 end = some ? __ldg(&s.row_offsets[u64(vertex) + 1]) : 0;
            hand_over(sink, some, begin, end, vertex);
        }
    }
    sink.found = 0;  // they were counted when they were found
    sink.finish(p);
}
