// Bottom-up levels of rows that are columns: how the rows of vertices are read that their first neighbours do not
// answer. See pull.cuh.

#include "kernels/bfs/cuda/sources/columns.cuh"
#include "kernels/bfs/cuda/search.cuh"
#include "kernels/bfs/cuda/pull.cuh"

constexpr i64 ALONE = 256;       // arcs that a lane tries before its warp helps: 32 lanes, 8 arcs at a time
constexpr i64 WHOLE_BLOCK = 2048;  // arcs left from which the whole block reads a row at the end
constexpr u32 SIDE_BY_SIDE = sizeof(VERTEX) == 4 ? 4 : 2;  // arcs that a lane tests at once when it reads a row with others

// What a warp reads of a row at once: SIDE_BY_SIDE arcs per lane from `first`, none from `last` on.
__device__ __forceinline__ u32 test_arcs(const Pull& level, i64 first, i64 last, VERTEX (&neighbour)[SIDE_BY_SIDE]) {
#pragma unroll
    for (u32 k = 0; k < SIDE_BY_SIDE; ++k) {
        i64 place = first + k * WARP + lane_id();
        neighbour[k] = place < last ? __ldg(&level.s.rows.columns[place]) : NO_VERTEX;
    }
    return level.visited(neighbour);
}

// Read the rows of up to 32 waiting vertices.
__device__ __forceinline__ void scan_rows(Pull& level) {
    const Search& s = level.s;
    u32 count = level.unanswered_count < WARP ? level.unanswered_count : WARP;
    level.unanswered_count -= count;
    __syncwarp();
    bool active = lane_id() < count;
    VERTEX vertex = active ? level.unanswered[level.unanswered_count + lane_id()] : VERTEX(0);
    __syncwarp();
    VERTEX predecessor = level.in_planes(vertex, active);
    __syncwarp();
    i64 at = active ? __ldg(&s.rows.row_offsets[vertex]) + s.arcs_kept : 0;
    i64 end = active ? __ldg(&s.rows.row_offsets[u64(vertex) + 1]) : 0;
    i64 stop = end - at < ALONE ? end : at + ALONE;
    while (at < stop && predecessor == NO_VERTEX) {
        VERTEX neighbour[TESTED];
#pragma unroll
        for (u32 k = 0; k < TESTED; ++k) neighbour[k] = __ldg(&s.rows.columns[at + k < end ? at + k : end - 1]);
        predecessor = level.first_of(neighbour, level.visited(neighbour));
        at += TESTED;
    }
    __syncwarp();
    u32 left = __ballot_sync(ALL_LANES, predecessor == NO_VERTEX && at < end);
    while (left) {
        u32 from = __ffs(left) - 1;
        left &= left - 1;
        i64 i = __shfl_sync(ALL_LANES, at, from), last = __shfl_sync(ALL_LANES, end, from);
        if (DEFER_ROWS && last - i >= WHOLE_BLOCK && __any_sync(ALL_LANES, lane_id() == from && level.defer(vertex)))
            continue;
        VERTEX nearest = NO_VERTEX;
        for (; i < last && nearest == NO_VERTEX; i += SIDE_BY_SIDE * WARP) {
            VERTEX neighbour[SIDE_BY_SIDE];
            u32 seen = test_arcs(level, i, last, neighbour);
#pragma unroll
            for (u32 k = 0; k < SIDE_BY_SIDE; ++k) {
                u32 hits = __ballot_sync(ALL_LANES, seen >> k & 1);
                if (hits && nearest == NO_VERTEX) nearest = __shfl_sync(ALL_LANES, neighbour[k], __ffs(hits) - 1);
            }
        }
        if (lane_id() == from) predecessor = nearest;
    }
    if (predecessor != NO_VERTEX) level.hit(vertex, predecessor);
}

// Read one row by the whole block: its arcs ascend, so the smallest that hits is among those read at the same time.
__device__ __forceinline__ void scan_deferred(const Pull& level, VERTEX vertex, VERTEX* nearest) {
    i64 end = level.s.rows.row_offsets[u64(vertex) + 1], step = i64(blockDim.x) * SIDE_BY_SIDE;
    for (i64 at = level.s.rows.row_offsets[vertex] + level.s.arcs_kept; at < end; at += step) {
        VERTEX neighbour[SIDE_BY_SIDE];
        VERTEX found = level.first_of(neighbour, test_arcs(level, at + i64(warp_id()) * WARP * SIDE_BY_SIDE, end, neighbour));
        if (found != NO_VERTEX) atomicMin(nearest, found);
        if (__syncthreads_or(found != NO_VERTEX)) return;
    }
}

__device__ __forceinline__ void check_waiting(Pull& level) {
    level.check_waiting();
    while (level.unanswered_count >= WARP) scan_rows(level);
}

// Rows are read wherever enough vertices wait for it, each time by a copy of the code, which is short. One place for all, as
// encoded rows have it, makes distances of Kronecker 21 in degree order 5 % slower (H100).
__device__ __forceinline__ void look_at_words(Pull& level, u32 words, u32 stride, u32 word) {
    const Search& s = level.s;
    bool own = lane_id() < level.width;
    u32 ahead = level.read_word(own, word, words);
    for (; word < words; word += stride) {
        u32 bits = ahead;
        ahead = level.read_word(own, word + stride, words);
        if (level.is_dense(bits)) {
#pragma unroll
            for (u32 part = 0; part < WIDEST_GROUP; part += AT_ONCE) {
                if (part >= level.width) break;
                level.check_dense(word, bits, part);
                while (level.unanswered_count >= WARP) scan_rows(level);
            }
            continue;
        }
        if (own) s.other[word + lane_id()] = bits;
        __syncwarp();
        u32 some = __ballot_sync(ALL_LANES, bits != ~0u);
        while (some) {
            u32 from = __ffs(some) - 1;
            some &= some - 1;
            level.let_wait(word, bits, from);
            if (level.waiting_count >= 2 * WARP) check_waiting(level);
        }
    }
    while (level.waiting_count) check_waiting(level);
    while (level.unanswered_count) scan_rows(level);
}
