// Bottom-up levels of encoded rows: how the rows of vertices are read that their first neighbours do not answer.
// See kernels/bfs/cuda/pull.cuh.
//
// A row is read by a lane, which stops at its first hit; by the whole warp where a lane has read LONG_SCAN
// neighbours in vain; by the whole block at the end if it has many units. Rows are read from their start: what the
// first neighbours said is read again, which costs less than to skip over it.

#include "kernels/bfs/cuda/sources/encoded.cuh"
#include "kernels/bfs/cuda/search.cuh"
#include "kernels/bfs/cuda/pull.cuh"

constexpr u32 LONG_SCAN = 64;    // neighbours that a lane tries before its warp helps
constexpr u32 READ = 4;          // neighbours that a lane reads before it looks them up
constexpr u64 WHOLE_BLOCK = 8;   // units from which the whole block reads a row at the end

// Give waiting vertices their planes; those that these do not answer wait on.
__device__ __forceinline__ void scan_planes(Pull& level) {
    u32 left = 0;
    for (u32 base = 0; base < level.unanswered_count; base += WARP) {
        bool active = base + lane_id() < level.unanswered_count;
        VERTEX vertex = active ? level.unanswered[base + lane_id()] : VERTEX(0);
        VERTEX predecessor = level.in_planes(vertex, active);
        if (predecessor != NO_VERTEX) level.hit(vertex, predecessor);
        u32 lanes = __ballot_sync(ALL_LANES, active);
        if (active) level.unanswered[left + __popc(lanes & lanes_below())] = vertex;
        left += __popc(lanes);
        __syncwarp();
    }
    level.unanswered_count = left;
}

// The first visited neighbour of one vertex in some of its units, by the whole warp; all lanes call it with the same.
__device__ __forceinline__ VERTEX scan_long(const Pull& level, VERTEX vertex, u64 unit, u64 end) {
    VERTEX nearest = NO_VERTEX;
    for (; unit < end && nearest == NO_VERTEX; ++unit) {
        visit_unit(level.s.rows, vertex, unit, [&](VERTEX neighbour, bool valid) {
            VERTEX one[1] = {valid ? neighbour : NO_VERTEX};
            u32 hits = __ballot_sync(ALL_LANES, level.visited(one));
            if (hits) nearest = __shfl_sync(ALL_LANES, neighbour, __ffs(hits) - 1);
            return !hits;
        });
    }
    return nearest;
}

// Read the rows of all waiting vertices, a lane each; a lane that is done takes the next one.
__device__ __forceinline__ void scan_rows(Pull& level) {
    __syncwarp();
    if (level.s.plane_count) scan_planes(level);
    bool busy = false;
    VERTEX vertex = VERTEX(0);
    Cursor cursor{};
    u32 tried = 0;
    while (true) {
        u32 idle = __ballot_sync(ALL_LANES, !busy);
        u32 taken = __popc(idle) < level.unanswered_count ? __popc(idle) : level.unanswered_count;
        if (!taken && idle == ALL_LANES) break;
        u32 place = __popc(idle & lanes_below());
        if (!busy && place < taken) {
            vertex = level.unanswered[level.unanswered_count - 1 - place];
            cursor = open_row(level.s.rows, vertex);
            tried = 0;
            busy = true;
        }
        level.unanswered_count -= taken;
        VERTEX predecessor = NO_VERTEX;
        bool more = busy;
        if (busy) {
            VERTEX neighbour[READ];
#pragma unroll
            for (u32 k = 0; k < READ; ++k) {
                more = more && next_neighbour(level.s.rows, cursor, neighbour[k]);
                if (!more) neighbour[k] = NO_VERTEX;
            }
            predecessor = level.first_of(neighbour, level.visited(neighbour));
            tried += READ;
        }
        __syncwarp();
        bool is_long = more && predecessor == NO_VERTEX && tried >= LONG_SCAN;
        u64 units = is_long ? row_units(level.s.rows, vertex) : 0;
        if (units >= WHOLE_BLOCK && level.defer(vertex)) is_long = more = false;
        u32 left = __ballot_sync(ALL_LANES, is_long);
        while (left) {
            u32 from = __ffs(left) - 1;
            left &= left - 1;
            VERTEX nearest = scan_long(level, __shfl_sync(ALL_LANES, vertex, from), 0, __shfl_sync(ALL_LANES, units, from));
            if (lane_id() == from) {
                predecessor = nearest;
                more = false;
            }
        }
        if (predecessor != NO_VERTEX) level.hit(vertex, predecessor);
        busy = more && predecessor == NO_VERTEX;
    }
    __syncwarp();
}

// Read one row by the whole block: units ascend, so the smallest that hits is among those read at the same time.
__device__ __forceinline__ void scan_deferred(const Pull& level, VERTEX vertex, VERTEX* nearest) {
    u64 units = row_units(level.s.rows, vertex), warps = blockDim.x / WARP;
    for (u64 first = 0; first < units; first += warps) {
        u64 unit = first + warp_id();
        VERTEX found = scan_long(level, vertex, unit, unit < units ? unit + 1 : unit);
        if (found != NO_VERTEX && lane_id() == 0) atomicMin(nearest, found);
        if (__syncthreads_or(found != NO_VERTEX)) return;
    }
}

// Words of both kinds and what waits at the end share a loop, so that the code that reads rows is there once: it is most
// of a search's code and of the time that compiling takes.
__device__ __forceinline__ void look_at_words(Pull& level, u32 words, u32 stride, u32 word) {
    const Search& s = level.s;
    bool own = lane_id() < level.width;
    u32 ahead = level.read_word(own, word, words);
    u32 begin = 0, bits = 0, left = 0;  // the words at hand, and which of them, or parts if they are dense, are left
    bool dense = false;
    while (true) {
        while (!left && word < words) {
            begin = word;
            word += stride;
            bits = ahead;
            ahead = level.read_word(own, word, words);
            dense = level.is_dense(bits);
            if (!dense && own) s.other[begin + lane_id()] = bits;
            __syncwarp();
            left = dense ? PARTS & ((1u << level.width) - 1) : __ballot_sync(ALL_LANES, bits != ~0u);
        }
        bool last = !left;
        if (left) {
            u32 from = __ffs(left) - 1;
            left &= left - 1;
            if (dense)
                level.check_dense(begin, bits, from);
            else
                level.let_wait(begin, bits, from);
        }
        if (level.waiting_count >= (last ? 1 : 2 * WARP)) level.check_waiting();
        u32 enough = last && !level.waiting_count ? 1 : WARP;
        while (level.unanswered_count >= enough) scan_rows(level);
        if (last && !level.waiting_count) break;
    }
}
