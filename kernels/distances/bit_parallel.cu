// Breadth-first searches from up to 4,096 sources at once, a level a launch: a row of bits per vertex, one bit a
// source (Then et al., The More the Merrier: Efficient Multi-Source Graph Traversal, PVLDB 8(4), 2014). No label of
// a vertex and source is written: levels are counted by source, and in sum by vertex. The CPU twin is
// kernels/distances/bit_parallel.py.
//
// Rows. WORDS words of 32 bits a vertex; bit s % 32 of word s / 32 belongs to source s. A lane works on a vertex where that
// is a row of 64 bits (rows_of_lanes.cuh), else a group of lanes (rows_of_groups.cuh). `seen` has all bits up to the
// current level, `frontier` those that came with it, and `next` receives those of the level after. `marks` has a bit for
// each vertex whose row of `frontier` is not zero, `next_marks` the same of `next`. Before a level, these are rows of two
// levels ago.
//
// Long rows. A row of more arcs than a piece is `hub`; its pieces are spread over the grid. `complete` has a bit for
// each vertex that `pull` passes over: reached by every live search, without arcs, or a hub.
//
// Counting. A lane adds words to bit-sliced counters in registers, five operations a word and not one a bit; they
// are emptied into shared memory every 31 rows.
//
// Row source. SOURCE_PARAMETERS are row_offsets i64 (vertices + 1) and columns VERTEX, or those of encoded rows; SOURCE
// makes Rows of them. Offsets count arcs, or bytes of encoded rows, as do `longest`, the lengths of pieces and totals.
// A Stretch is what is to be read of a row: nothing, unless its begin is below its end. A source has
//
//   offsets_of(rows)
//   whole_row(v, begin, end)            the stretch of row v, which has these offsets
//   piece_of(rows, v, begin, length)    that of a piece of it
//   stretch_of_lane(stretch, lane)      the stretch that a lane has, in all lanes
//   visit_together(rows, stretch, visit)   visit(neighbour, there) by all lanes of a warp, which have the same stretch,
//                                       until it returns false
//   visit_first_lanes(rows, stretch, lane, visit)   visit(neighbour, count) by all lanes of a group; the first `count` of
//                                       them have a neighbour
//   look_alone(rows, left, go, look)    look(neighbours, there) by each lane with the next AHEAD ones of its own stretch,
//                                       as long as go() and they are few; `left` is then the rest
//   visit_alone(rows, left, visit)      visit(neighbour) by each lane, where it has few; all lanes of a warp call it
//
// Parts. `pull` and `push` work on the vertices from `first`, a multiple of 32, to below `last`, whose rows the source can
// read, and `pull_pieces` and `push_pieces` on pieces of such; a level launches them for each part (row_parts.py).
//
// Contract. `pull` needs a symmetric graph. Bitmaps are u32 (vertices + 31) / 32. `counts` u64 (32 * WORDS), `totals` u64
// (2): vertices and arcs of `next`; both are zero before a level. The three vertex arrays i64 (vertices), or null. Block:
// whole warps.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh
// variants VERTEX: u32 u64
// variants WORDS: 2 8 32 64 128

#include "kernels/cuda/types.cuh"
#include "kernels/layouts/is_columns.cuh"
#include "kernels/distances/bit_rows.cuh"
#if IS_COLUMNS(LAYOUT)
#include "kernels/distances/sources/columns.cuh"
#else
#include "kernels/distances/sources/encoded.cuh"
#endif
#if WORDS == 2
#include "kernels/distances/rows_of_lanes.cuh"
#else
#include "kernels/distances/rows_of_groups.cuh"
#endif

// Commits what the pieces of long rows gained.
extern "C" __global__ void commit_hubs(const i64* offsets, const VERTEX* hubs, u64 count, u32* seen, const u32* next,
                                       u32* next_marks, u64* counts, u64* totals, u64* vertex_reached, u64* vertex_total,
                                       i64* vertex_largest, u64 level) {
    __shared__ u32 tally[SOURCES];
    Group group;
    Found found(tally);
    PerVertex per_vertex{vertex_reached, vertex_total, vertex_largest, level};
    for (u64 i = global_thread() / LANES; i < count; i += global_threads() / LANES) {
        u64 v = hubs[i];
        Row gained = group.load(next, v);
        if (!group.any(gained)) continue;
        Row known = group.load(seen, v);
#pragma unroll
        for (u32 j = 0; j < OWN; ++j) known.word[j] |= gained.word[j];
        group.store(seen, v, known);
        if (group.lane == 0) {
            atomicOr(&next_marks[v >> 5], 1u << (v & 31));
            ++found.vertices;
            found.arcs += u64(offsets[v + 1] - offsets[v]);
        }
        found.add(group, gained);
        per_vertex.add(group, v, gained);
    }
    found.finish(group, counts, totals);
}

// Makes the marked rows of `next` zero, and takes their marks away. (`pull` does so by itself.)
extern "C" __global__ void clear(u64 vertices, u32* next, u32* next_marks) {
    Group group;
    for (u64 place = global_thread() / WARP; place * WARP < vertices; place += global_threads() / WARP) {
        u32 left = next_marks[place];
        if (!left) continue;
        for (u32 slot = lane_id() / LANES; slot < WARP; slot += GROUPS)
            if (left >> slot & 1) group.store(next, place * WARP + slot, Row{});
        __syncwarp();
        if (lane_id() == 0) next_marks[place] = 0;
    }
}

// Says of each part whether a vertex of it is on the frontier. `ahead` u32 (parts) is zero before; parts begin with the
// vertices `bounds` u64 (parts + 1), all but the last a multiple of 32.
extern "C" __global__ void parts_ahead(const u64* bounds, u64 parts, const u32* marks, u32* ahead) {
    for (u64 part = blockIdx.x; part < parts; part += gridDim.x)
        for (u64 place = bounds[part] / WARP + threadIdx.x; place * WARP < bounds[part + 1]; place += blockDim.x)
            if (marks[place]) ahead[part] = 1;
}

// Puts the sources on the frontier, all other memory being zero, and says what `pull` passes over.
extern "C" __global__ void start(const i64* offsets, u64 vertices, u64 longest, const i64* sources, u64 count, u32* seen,
                                 u32* frontier, u32* marks, u32* complete, u64* counts, u64* totals, u64* vertex_reached,
                                 i64* vertex_largest) {
    for (u64 s = global_thread(); s < count; s += global_threads()) {
        u64 v = u64(sources[s]);
        u32 word = u32(s / 32), bit = 1u << (s & 31);
        atomicOr(&seen[v * WORDS + word], bit);
        atomicOr(&frontier[v * WORDS + word], bit);
        counts[s] = 1;
        if (vertex_reached) {
            atomicAdd(&vertex_reached[v], 1ull);
            if (vertex_largest[v] < 0) vertex_largest[v] = 0;
        }
        u32 own = 1u << (v & 31);
        if (atomicOr(&marks[v >> 5], own) & own) continue;
        atomicAdd(&totals[0], 1ull);
        atomicAdd(&totals[1], u64(offsets[v + 1] - offsets[v]));
    }
    u64 whole = (vertices + WARP - 1) / WARP * WARP;
    for (u64 v = global_thread(); v < whole; v += global_threads()) {
        i64 degree = v < vertices ? offsets[v + 1] - offsets[v] : 0;
        u32 passed = __ballot_sync(ALL_LANES, degree == 0 || degree > i64(longest));
        if (lane_id() == 0) complete[v >> 5] = passed;
    }
}

// Ends a level, in one block of whole warps: adds its counts to the results of the sources, makes live those that
// found something, and leaves `counts` and `totals` zero. `reported` gets the totals.
extern "C" __global__ void fold(u64* counts, u64* totals, u64* reported, u64 level, u64 sources, u32* live, i64* reached,
                                i64* total, double* reciprocal, i64* eccentricity, i64* by_level, u64 levels) {
    for (u32 s = threadIdx.x; s < SOURCES; s += blockDim.x) {
        u64 found = counts[s];
        counts[s] = 0;
        u32 alive = __ballot_sync(ALL_LANES, found != 0);
        if (lane_id() == 0) live[s / WARP] = alive;
        if (!found || s >= sources) continue;
        reached[s] += i64(found);
        total[s] += i64(found * level);
        if (level) reciprocal[s] += double(found) / double(level);
        eccentricity[s] = i64(level);
        if (level < levels) by_level[s * levels + level] = i64(found);
    }
    if (threadIdx.x < 2) {
        reported[threadIdx.x] = totals[threadIdx.x];
        totals[threadIdx.x] = 0;
    }
}
