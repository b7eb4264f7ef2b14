// How a group of lanes pulls and pushes the row of a vertex, a lane a word or more of it.

#include "kernels/distances/bit_rows.cuh"

// Moves from `wanted` to `gained` what the neighbours of the first lanes in `left` have on the frontier, and takes those
// lanes away.
__device__ __forceinline__ void take_some(const Group& group, VERTEX neighbour, u32& left, const u32* frontier, Row& wanted,
                                          Row& gained) {
    Row rows[AHEAD];
    u32 from = 0;
#pragma unroll
    for (u32 i = 0; i < AHEAD; ++i) {
        if (left) from = __ffs(left) - 1;
        left &= left - 1;
        rows[i] = group.load_wanted(frontier, __shfl_sync(group.lanes, neighbour, from), wanted);
    }
#pragma unroll
    for (u32 i = 0; i < AHEAD; ++i)
#pragma unroll
        for (u32 j = 0; j < OWN; ++j) {
            u32 newly_visited = rows[i].word[j] & wanted.word[j];
            gained.word[j] |= newly_visited;
            wanted.word[j] ^= newly_visited;
        }
}

// The same with all neighbours of a stretch, until nothing is wanted.
__device__ __forceinline__ void take(const Group& group, const Rows& source, const Stretch& stretch, const u32* frontier,
                                     const u32* marks, Row& wanted, Row& gained) {
#if IS_COLUMNS(LAYOUT)
    // Not by `visit_together`, for which NVRTC makes more branches than for this loop.
    for (i64 k = stretch.begin; k < stretch.end; k += LANES) {
        i64 at = k + group.lane;
        VERTEX neighbour = at < stretch.end ? source.columns[at] : VERTEX(0);
        bool has = at < stretch.end && (marks[neighbour >> 5] >> (neighbour & 31) & 1);
        u32 left = __ballot_sync(group.lanes, has) & group.lanes;
        while (left) {
            take_some(group, neighbour, left, frontier, wanted, gained);
            if (!group.any(wanted)) return;
        }
    }
#else
    visit_together(source, stretch, [&](VERTEX neighbour, bool there) {
        u32 left = __ballot_sync(ALL_LANES, there && (marks[neighbour >> 5] >> (neighbour & 31) & 1));
        while (left) {
            take_some(group, neighbour, left, frontier, wanted, gained);
            if (!group.any(wanted)) return false;
        }
        return true;
    });
#endif
}

// A warp takes 32 vertices in turn, whose bits share a word of each bitmap.
extern "C" __global__ void pull(SOURCE_PARAMETERS, u64 first, u64 last, const u32* live, u32* seen, const u32* frontier,
                                u32* next, const u32* marks, u32* next_marks, u32* complete, u64* counts, u64* totals,
                                u64* vertex_reached, u64* vertex_total, i64* vertex_largest, u64 level) {
    __shared__ u32 tally[SOURCES];
    Rows source = SOURCE;
    Group group;
    Found found(tally);
    PerVertex per_vertex{vertex_reached, vertex_total, vertex_largest, level};
    Row alive = group.load(live, 0);
    for (u64 place = first / WARP + global_thread() / WARP; place * WARP < last; place += global_threads() / WARP) {
        u32 done = complete[place], old = next_marks[place], newly_visited = 0, over = 0;
        if (done == ~0u && !old) continue;
        u64 mine = place * WARP + lane_id();
        const i64* offsets = offsets_of(source);
        i64 begin = mine < last ? offsets[mine] : 0, end = mine < last ? offsets[mine + 1] : 0;
        for (u32 round = 0; round < LANES; ++round) {
            u32 slot = round * GROUPS + lane_id() / LANES;
            u64 v = place * WARP + slot;
            i64 from = __shfl_sync(ALL_LANES, begin, slot), to = __shfl_sync(ALL_LANES, end, slot);
            Row gained = {};
            if (from < to && !(done >> slot & 1)) {
                Row known = group.load(seen, v), wanted;
#pragma unroll
                for (u32 j = 0; j < OWN; ++j) wanted.word[j] = alive.word[j] & ~known.word[j];
                if (group.any(wanted))
                    take(group, source, whole_row(v, from, to), frontier, marks, wanted, gained);
                else
                    over |= 1u << slot;
                if (group.any(gained)) {
#pragma unroll
                    for (u32 j = 0; j < OWN; ++j) known.word[j] |= gained.word[j];
                    group.store(seen, v, known);
                    newly_visited |= 1u << slot;
                    if (group.lane == 0) {
                        ++found.vertices;
                        found.arcs += u64(to - from);
                    }
                    found.add(group, gained);
                    per_vertex.add(group, v, gained);
                }
            }
            if ((newly_visited | old) >> slot & 1) group.store(next, v, gained);
        }
        newly_visited = __reduce_or_sync(ALL_LANES, newly_visited);
        over = __reduce_or_sync(ALL_LANES, over);
        if (lane_id() == 0) {
            next_marks[place] = newly_visited;
            if (over) complete[place] = done | over;
        }
    }
    found.finish(group, counts, totals);
}

// Pulls for pieces of long rows, after `pull`: what they gain is only noted in `next`.
extern "C" __global__ void pull_pieces(SOURCE_PARAMETERS, const VERTEX* piece_vertex, const i64* piece_begin,
                                       u64 pieces, u64 length, const u32* live, const u32* seen, const u32* frontier,
                                       u32* next, const u32* marks) {
    Rows source = SOURCE;
    Group group;
    Row alive = group.load(live, 0);
    u64 groups = global_threads() / LANES;
    for (u64 piece = global_thread() / LANES; piece < pieces; piece += groups) {
        u64 v = piece_vertex[piece];
        Stretch stretch = piece_of(source, v, piece_begin[piece], length);
        Row known = group.load(seen, v), wanted, gained = {};
#pragma unroll
        for (u32 j = 0; j < OWN; ++j)
            wanted.word[j] = alive.word[j] & ~known.word[j] & ~group.load_now(next, v, j);
        if (!group.any(wanted)) continue;
        take(group, source, stretch, frontier, marks, wanted, gained);
#pragma unroll
        for (u32 j = 0; j < OWN; ++j)
            if (gained.word[j]) atomicOr(&next[group.at(v, j)], gained.word[j]);
    }
}

// Offers a row of the frontier to the neighbours of a stretch, AHEAD of them at a time: where few groups are at work, a
// level takes as long as their atomics wait for one another.
__device__ __forceinline__ void offer(const Group& group, const Rows& source, const Stretch& stretch, const Row& row,
                                      u32* seen, u32* next, u32* next_marks, Found& found, const PerVertex& per_vertex) {
    visit_first_lanes(source, stretch, group.lane, [&](VERTEX neighbour, u32 here) {
        for (u32 first = 0; first < here; first += AHEAD) {
            VERTEX v[AHEAD];
            Row gained[AHEAD], any = {};
#pragma unroll
            for (u32 i = 0; i < AHEAD; ++i) {
                u32 from = first + i < here ? first + i : here - 1;
                v[i] = __shfl_sync(group.lanes, neighbour, group.first + from);
                gained[i] = group.load_wanted(seen, v[i], row);
            }
#pragma unroll
            for (u32 i = 0; i < AHEAD; ++i)
#pragma unroll
                for (u32 j = 0; j < OWN; ++j) {
                    gained[i].word[j] = first + i < here ? row.word[j] & ~gained[i].word[j] : 0;
                    any.word[j] |= gained[i].word[j];
                }
            if (!group.any(any)) continue;
            // What was read of `seen` may only lack bits.
#pragma unroll
            for (u32 i = 0; i < AHEAD; ++i)
#pragma unroll
                for (u32 j = 0; j < OWN; ++j) {
                    u32 asked = gained[i].word[j];
                    if (asked) gained[i].word[j] = asked & ~atomicOr(&seen[group.at(v[i], j)], asked);
                }
            VERTEX mine = 0;
            bool gains = false;
#pragma unroll
            for (u32 i = 0; i < AHEAD; ++i) {
#pragma unroll
                for (u32 j = 0; j < OWN; ++j)
                    if (gained[i].word[j]) atomicOr(&next[group.at(v[i], j)], gained[i].word[j]);
                if (!group.any(gained[i])) continue;
                if (group.lane == i) {
                    mine = v[i];
                    gains = true;
                }
                found.add(group, gained[i]);
                per_vertex.add(group, v[i], gained[i]);
            }
            u32 bit = 1u << (mine & 31);
            if (gains && !(atomicOr(&next_marks[mine >> 5], bit) & bit)) {
                ++found.vertices;
                found.arcs += u64(offsets_of(source)[u64(mine) + 1] - offsets_of(source)[mine]);
            }
        }
    });
}

// A group takes the marked vertices of a word in turn, after `clear`.
extern "C" __global__ void push(SOURCE_PARAMETERS, u64 first, u64 last, u64 longest, u32* seen, const u32* frontier,
                                u32* next, const u32* marks, u32* next_marks, u64* counts, u64* totals,
                                u64* vertex_reached, u64* vertex_total, i64* vertex_largest, u64 level) {
    __shared__ u32 tally[SOURCES];
    Rows source = SOURCE;
    Group group;
    Found found(tally);
    PerVertex per_vertex{vertex_reached, vertex_total, vertex_largest, level};
    for (u64 place = first / WARP + global_thread() / WARP; place * WARP < last; place += global_threads() / WARP) {
        u32 left = marks[place];
        if (!left) continue;
        for (u32 slot = lane_id() / LANES; slot < WARP; slot += GROUPS) {
            if (!(left >> slot & 1)) continue;
            u64 u = place * WARP + slot;
            i64 begin = offsets_of(source)[u], end = offsets_of(source)[u + 1];
            if (end - begin > i64(longest)) continue;
            offer(group, source, whole_row(u, begin, end), group.load(frontier, u), seen, next, next_marks, found,
                  per_vertex);
        }
    }
    __syncwarp();
    found.finish(group, counts, totals);
}

// Pushes along pieces of long rows, after `push`.
extern "C" __global__ void push_pieces(SOURCE_PARAMETERS, const VERTEX* piece_vertex, const i64* piece_begin,
                                       u64 pieces, u64 length, u32* seen, const u32* frontier, u32* next,
                                       const u32* marks, u32* next_marks, u64* counts, u64* totals,
                                       u64* vertex_reached, u64* vertex_total, i64* vertex_largest, u64 level) {
    __shared__ u32 tally[SOURCES];
    Rows source = SOURCE;
    Group group;
    Found found(tally);
    PerVertex per_vertex{vertex_reached, vertex_total, vertex_largest, level};
    for (u64 piece = global_thread() / LANES; piece < pieces; piece += global_threads() / LANES) {
        u64 u = piece_vertex[piece];
        if (!(marks[u >> 5] >> (u & 31) & 1)) continue;
        Stretch stretch = piece_of(source, u, piece_begin[piece], length);
        offer(group, source, stretch, group.load(frontier, u), seen, next, next_marks, found, per_vertex);
    }
    __syncwarp();
    found.finish(group, counts, totals);
}
