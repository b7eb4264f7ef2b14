// How a lane pulls and pushes a row of 64 bits: each lane begins with the row of arcs of a vertex of its own, and what is
// left of longer ones its warp reads together, a neighbour a lane.

#include "kernels/distances/bit_rows.cuh"

__device__ __forceinline__ bool has_bits(const Row& row) { return (row.word[0] | row.word[1]) != 0; }

// The row that a lane has, in all lanes.
__device__ __forceinline__ Row row_of_lane(const Row& row, u32 lane) {
    return {__shfl_sync(ALL_LANES, row.word[0], lane), __shfl_sync(ALL_LANES, row.word[1], lane)};
}

// What a neighbour has on the frontier. Neighbours that are not there have rows of zeros, so that no mark is looked up.
__device__ __forceinline__ Row load_if(const Group& group, const u32* rows, bool there, VERTEX vertex) {
    return there ? group.load(rows, vertex) : Row{};
}

// Moves from `wanted` to `gained` what a row has.
__device__ __forceinline__ void move_bits(const Row& row, Row& wanted, Row& gained) {
#pragma unroll
    for (u32 j = 0; j < OWN; ++j) {
        u32 newly_visited = row.word[j] & wanted.word[j];
        gained.word[j] |= newly_visited;
        wanted.word[j] ^= newly_visited;
    }
}

// The same with what the rows of all lanes have.
__device__ __forceinline__ void take_all(Row row, Row& wanted, Row& gained) {
#pragma unroll
    for (u32 j = 0; j < OWN; ++j) row.word[j] = __reduce_or_sync(ALL_LANES, row.word[j]);
    move_bits(row, wanted, gained);
}

// Moves from `wanted` to `gained` what the neighbours of a stretch have on the frontier. All lanes call it for the same
// stretch, and get the same.
__device__ __forceinline__ void take_together(const Group& group, const Rows& source, const Stretch& stretch,
                                              const u32* frontier, Row& wanted, Row& gained) {
#if IS_COLUMNS(LAYOUT)
    // Not by `visit_together`, for which NVRTC makes more branches than for this loop.
    for (i64 k = stretch.begin; k < stretch.end && has_bits(wanted); k += WARP) {
        i64 at = k + lane_id();
        Row row = load_if(group, frontier, at < stretch.end, at < stretch.end ? source.columns[at] : VERTEX(0));
        take_all(row, wanted, gained);
    }
#else
    if (has_bits(wanted)) visit_together(source, stretch, [&](VERTEX neighbour, bool there) {
        take_all(load_if(group, frontier, there, neighbour), wanted, gained);
        return has_bits(wanted);
    });
#endif
}

// The same for a row of each lane, of which some may be empty; all lanes call it.
__device__ __forceinline__ void take_each(const Group& group, const Rows& source, Stretch left, const u32* frontier,
                                          Row& wanted, Row& gained) {
    look_alone(
        source, left, [&] { return has_bits(wanted); },
        [&](const VERTEX* neighbour, const bool* there) {
            Row rows[AHEAD];
#pragma unroll
            for (u32 i = 0; i < AHEAD; ++i) rows[i] = load_if(group, frontier, there[i], neighbour[i]);
#pragma unroll
            for (u32 i = 0; i < AHEAD; ++i) move_bits(rows[i], wanted, gained);
        });
    __syncwarp();
    for (u32 lanes = __ballot_sync(ALL_LANES, left.begin < left.end && has_bits(wanted)); lanes; lanes &= lanes - 1) {
        u32 from = __ffs(lanes) - 1;
        Row its = row_of_lane(wanted, from), shared_gain = {};
        take_together(group, source, stretch_of_lane(left, from), frontier, its, shared_gain);
        if (lane_id() == from) move_bits(shared_gain, wanted, gained);
    }
}

// A warp takes 32 vertices in turn, whose bits share a word of each bitmap.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK, FEWEST_BLOCKS)
    pull(SOURCE_PARAMETERS, u64 first, u64 last, const u32* live, u32* seen, const u32* frontier, u32* next, const u32* marks,
         u32* next_marks, u32* complete, u64* counts, u64* totals, u64* vertex_reached, u64* vertex_total,
         i64* vertex_largest, u64 level) {
    __shared__ u32 tally[SOURCES];
    Rows source = SOURCE;
    Group group;
    Found found(tally);
    PerVertex per_vertex{vertex_reached, vertex_total, vertex_largest, level};
    Row alive = group.load(live, 0);
    for (u64 place = first / WARP + global_thread() / WARP; place * WARP < last; place += global_threads() / WARP) {
        u32 done = complete[place], old = next_marks[place];
        if (done == ~0u && !old) continue;
        u64 v = place * WARP + lane_id();
        bool asks = v < last && !(done >> lane_id() & 1);
        const i64* offsets = offsets_of(source);
        i64 begin = asks ? offsets[v] : 0, end = asks ? offsets[v + 1] : 0;
        Row known = load_if(group, seen, asks, VERTEX(v)), wanted = {}, gained = {};
#pragma unroll
        for (u32 j = 0; j < OWN; ++j) wanted.word[j] = asks ? alive.word[j] & ~known.word[j] : 0;
        bool over = asks && !has_bits(wanted);
        take_each(group, source, whole_row(v, begin, end), frontier, wanted, gained);
        bool newly_visited = has_bits(gained);
        if (newly_visited) {
            group.store(seen, v, {known.word[0] | gained.word[0], known.word[1] | gained.word[1]});
            ++found.vertices;
            found.arcs += u64(end - begin);
            found.add(group, gained);
            per_vertex.add(group, v, gained);
        }
        if (newly_visited || old >> lane_id() & 1) group.store(next, v, gained);
        u32 now_marked = __ballot_sync(ALL_LANES, newly_visited), now_over = __ballot_sync(ALL_LANES, over);
        if (lane_id() == 0) {
            next_marks[place] = now_marked;
            if (now_over) complete[place] = done | now_over;
        }
        if (__any_sync(ALL_LANES, found.full())) found.empty_together();
    }
    found.finish(group, counts, totals);
}

// The bits of live sources that a long row lacks at this moment.
__device__ __forceinline__ Row lacking(const Group& group, const Row& alive, const u32* seen, const u32* next, u64 v) {
    Row row = group.load(seen, v);
#pragma unroll
    for (u32 j = 0; j < OWN; ++j) row.word[j] = alive.word[j] & ~row.word[j] & ~__ldcv(&next[group.at(v, j)]);
    return row;
}

// Pulls for pieces of long rows, after `pull`: what they gain is only noted in `next`. Each lane looks whether a piece
// has anything to gain, and the warp reads those that have. Neighbouring pieces, which are of one row, go to different warps.
extern "C" __global__ void pull_pieces(SOURCE_PARAMETERS, const VERTEX* piece_vertex, const i64* piece_begin,
                                       u64 pieces, u64 length, const u32* live, const u32* seen, const u32* frontier,
                                       u32* next, const u32* marks) {
    Rows source = SOURCE;
    Group group;
    Row alive = group.load(live, 0);
    u64 warps = global_threads() / WARP;
    for (u64 first = global_thread() / WARP; first < pieces; first += warps * WARP) {
        u64 piece = first + lane_id() * warps;
        u64 v = piece < pieces ? u64(piece_vertex[piece]) : 0;
        Row wanted = {};
        if (piece < pieces) wanted = lacking(group, alive, seen, next, v);
        for (u32 left = __ballot_sync(ALL_LANES, has_bits(wanted)); left; left &= left - 1) {
            u32 from = __ffs(left) - 1;
            u64 its = __shfl_sync(ALL_LANES, v, from);
            Stretch stretch = piece_of(source, its, piece_begin[first + from * warps], length);
            // Other warps write `next` meanwhile, and all lanes must find the same there.
            Row asked = row_of_lane(lacking(group, alive, seen, next, its), 0), gained = {};
            take_together(group, source, stretch, frontier, asked, gained);
#pragma unroll
            for (u32 j = 0; j < OWN; ++j)
                if (lane_id() == j && gained.word[j]) atomicOr(&next[group.at(its, j)], gained.word[j]);
        }
    }
}

// Offers a row of the frontier to a neighbour.
__device__ __forceinline__ void offer(const Group& group, const Rows& source, u64 v, const Row& row, u32* seen, u32* next,
                                      u32* next_marks, Found& found, const PerVertex& per_vertex) {
    Row known = group.load(seen, v), gained;
#pragma unroll
    for (u32 j = 0; j < OWN; ++j) {
        // What was read of `seen` may only lack bits.
        u32 asked = row.word[j] & ~known.word[j];
        gained.word[j] = asked ? asked & ~atomicOr(&seen[group.at(v, j)], asked) : 0;
        if (gained.word[j]) atomicOr(&next[group.at(v, j)], gained.word[j]);
    }
    if (!has_bits(gained)) return;
    u32 bit = 1u << (v & 31);
    if (!(atomicOr(&next_marks[v >> 5], bit) & bit)) {
        ++found.vertices;
        found.arcs += u64(offsets_of(source)[v + 1] - offsets_of(source)[v]);
    }
    found.add(group, gained);
    per_vertex.add(group, v, gained);
}

// Offers a row of the frontier, the same of all lanes, to the neighbours of a stretch.
__device__ __forceinline__ void offer_together(const Group& group, const Rows& source, const Stretch& stretch,
                                               const Row& row, u32* seen, u32* next, u32* next_marks, Found& found,
                                               const PerVertex& per_vertex) {
    visit_together(source, stretch, [&](VERTEX neighbour, bool there) {
        if (there) offer(group, source, neighbour, row, seen, next, next_marks, found, per_vertex);
        __syncwarp();
        if (__any_sync(ALL_LANES, found.full())) found.empty_together();
        return true;
    });
}

// A warp takes 32 vertices in turn, after `clear`.
extern "C" __global__ void push(SOURCE_PARAMETERS, u64 first, u64 last, u64 longest, u32* seen, const u32* frontier,
                                u32* next, const u32* marks, u32* next_marks, u64* counts, u64* totals,
                                u64* vertex_reached, u64* vertex_total, i64* vertex_largest, u64 level) {
    __shared__ u32 tally[SOURCES];
    Rows source = SOURCE;
    Group group;
    Found found(tally);
    PerVertex per_vertex{vertex_reached, vertex_total, vertex_largest, level};
    for (u64 place = first / WARP + global_thread() / WARP; place * WARP < last; place += global_threads() / WARP) {
        u32 marked = marks[place];
        if (!marked) continue;
        u64 u = place * WARP + lane_id();
        bool offers = marked >> lane_id() & 1;
        const i64* offsets = offsets_of(source);
        i64 begin = offers ? offsets[u] : 0, end = offers ? offsets[u + 1] : 0;
        if (end - begin > i64(longest)) end = begin;
        Row row = load_if(group, frontier, begin < end, VERTEX(u));
        Stretch left = whole_row(u, begin, end);
        visit_alone(source, left, [&](VERTEX neighbour) {
            offer(group, source, neighbour, row, seen, next, next_marks, found, per_vertex);
        });
        __syncwarp();
        for (u32 lanes = __ballot_sync(ALL_LANES, left.begin < left.end); lanes; lanes &= lanes - 1) {
            u32 from = __ffs(lanes) - 1;
            offer_together(group, source, stretch_of_lane(left, from), row_of_lane(row, from), seen, next, next_marks,
                           found, per_vertex);
        }
    }
    found.finish(group, counts, totals);
}

// Pushes along pieces of long rows, after `push`. Each lane looks whether the vertex of a piece is on the frontier.
extern "C" __global__ void push_pieces(SOURCE_PARAMETERS, const VERTEX* piece_vertex, const i64* piece_begin,
                                       u64 pieces, u64 length, u32* seen, const u32* frontier, u32* next,
                                       const u32* marks, u32* next_marks, u64* counts, u64* totals,
                                       u64* vertex_reached, u64* vertex_total, i64* vertex_largest, u64 level) {
    __shared__ u32 tally[SOURCES];
    Rows source = SOURCE;
    Group group;
    Found found(tally);
    PerVertex per_vertex{vertex_reached, vertex_total, vertex_largest, level};
    u64 warps = global_threads() / WARP;
    for (u64 first = global_thread() / WARP; first < pieces; first += warps * WARP) {
        u64 piece = first + lane_id() * warps;
        u64 u = piece < pieces ? u64(piece_vertex[piece]) : 0;
        for (u32 left = __ballot_sync(ALL_LANES, piece < pieces && marks[u >> 5] >> (u & 31) & 1); left; left &= left - 1) {
            u32 from = __ffs(left) - 1;
            u64 its = __shfl_sync(ALL_LANES, u, from);
            Stretch stretch = piece_of(source, its, piece_begin[first + from * warps], length);
            offer_together(group, source, stretch, group.load(frontier, its), seen, next, next_marks, found, per_vertex);
        }
    }
    found.finish(group, counts, totals);
}
