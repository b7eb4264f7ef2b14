// Columns in host memory: lines are walked where they lie. Of the vertices that their heads do not answer, rows are read
// in stretches that grow.
//
// Contract. row_offsets i64 (vertices + 1) and first_rows on the device; columns VERTEX, sorted by row, may lie in pinned
// host memory.

#include "kernels/bfs/cuda/host_steps.cuh"
#include "kernels/bfs/cuda/lines.cuh"

constexpr u32 MAX_THREADS = 512;
constexpr u32 HEAD_GROUP = 4;  // heads that are read at once

#define SOURCE_PARAMETERS const i64 *row_offsets, const VERTEX *columns, const VERTEX *first_rows
#define HEADS_PARAMETERS const VERTEX *heads, const u32 *closed
#define SIZES_PARAMETERS u64 vertices, u64 arcs
#define SOURCE {row_offsets, columns, first_rows, arcs}

struct Source {
    const i64* row_offsets;
    const VERTEX* columns;
    const VERTEX* first_rows;
    u64 arcs;

    __device__ __forceinline__ u64 weight(u64) const { return arcs; }
    // Marks are taken away where lines are walked.
    __device__ __forceinline__ void end_level(const HostRows&) const {}
};

constexpr u64 FEW_LINES = 4096;  // that the link brings in the time of a round with nothing in it, about 10 us

// How far into their rows, in lines, all waiting vertices have read and read in this round. A stretch is twice as long
// as the one before it, or eight times after a round that read next to nothing: a graph with rows of thousands of lines
// would take a dozen rounds a level for a few of them.
struct Reach {
    u64 before = 0, behind = 1;

    __device__ __forceinline__ void grow(u64 marked) {
        u64 length = (behind - before) * (marked < FEW_LINES ? 8 : 2);
        before = behind;
        behind += length;
    }
};

// The stretch of lines that a waiting row reads in a round, none where the row has ended.
__device__ __forceinline__ void stretch(i64 begin, i64 end, u32 heads, const Reach& reach, u64& from, u64& upto) {
    from = upto = 0;
    if (begin + i64(heads) >= end) return;
    u64 first = u64(begin + heads) / LINE, last = u64(end - 1) / LINE + 1;
    from = first + reach.before;
    upto = first + reach.behind < last ? first + reach.behind : last;
    if (from > upto) from = upto;
}

// Bottom-up: look among the heads of all that is unvisited; what has more neighbours waits for its row.
__device__ __forceinline__ void look_at_heads(const HostRows& s, const Source&, u32 depth) {
    Marked marked;
    for (u64 word = global_thread() / WARP; word < s.words; word += global_threads() / WARP) {
        u32 open = ~s.visited[word];
        if (!open) continue;
        u64 vertex = word * 32 + lane_id();
        bool mine = open >> lane_id() & 1 && vertex < s.vertices;
        bool more = mine, hit = false;
        for (u32 first = 0; first < s.head_count && more; first += HEAD_GROUP) {
            struct alignas(16) Group { VERTEX neighbour[HEAD_GROUP]; };
            Group group = reinterpret_cast<const Group*>(s.heads + vertex * s.head_count)[first / HEAD_GROUP];
            VERTEX predecessor = NO_VERTEX;
#pragma unroll
            for (u32 k = 0; k < HEAD_GROUP; ++k)
                if (predecessor == NO_VERTEX && group.neighbour[k] != NO_VERTEX &&
                    test_bit(s.visited, group.neighbour[k]))
                    predecessor = group.neighbour[k];
            hit = predecessor != NO_VERTEX;
            more = !hit && group.neighbour[HEAD_GROUP - 1] != NO_VERTEX;
            if (hit) {
                if (TREE)
                    s.keys[vertex] = make_key(depth, predecessor);
                else
                    s.distance[vertex] = i32(depth);
            }
        }
        u64 from = 0, upto = 0;
        if (more) stretch(s.row_offsets[vertex], s.row_offsets[vertex + 1], s.head_count, Reach{}, from, upto);
        u32 hits = __ballot_sync(ALL_LANES, hit), left = __ballot_sync(ALL_LANES, from < upto);
        if (lane_id() == 0) {
            s.next[word] = hits;
            s.waiting[word] = left;
        }
        if (left) mark_lines(s, marked, from, upto);
    }
    marked.add(s);
}

// After a round over waiting rows: those that found nothing and have lines left wait for their next stretch.
__device__ __forceinline__ void wait_on(const HostRows& s, const Reach& reach) {
    Marked marked;
    for (u64 word = global_thread() / WARP; word < s.words; word += global_threads() / WARP) {
        u32 bits = s.waiting[word];
        if (!bits) continue;
        bits &= ~s.next[word];
        u64 from = 0, upto = 0, vertex = word * 32 + lane_id();
        if (bits >> lane_id() & 1)
            stretch(s.row_offsets[vertex], s.row_offsets[vertex + 1], s.head_count, reach, from, upto);
        u32 left = __ballot_sync(ALL_LANES, from < upto);
        if (lane_id() == 0) s.waiting[word] = left;
        if (left) mark_lines(s, marked, from, upto);
    }
    marked.add(s);
}

// Bottom-up: the waiting rows look for a visited column, in the stretch of this round alone, so that the
// smallest is found.
__device__ __forceinline__ void pull_lines(const HostRows& s, u64* ticket, u64 first, u64 last, u32 width, u64 base,
                                           u32 depth, const Reach& reach) {
    walk(s, ticket, first, last, width, base, [&](VERTEX neighbour, i64 place, u64 low, u64 high) {
        if (!test_bit(s.visited, neighbour)) return;
        u64 row = row_of(s, low, high, place);
        if (!test_bit(s.waiting, row)) return;
        u64 from, upto;
        stretch(s.row_offsets[row], s.row_offsets[row + 1], s.head_count, reach, from, upto);
        if (u64(place) / LINE < upto) claim(s, VERTEX(row), neighbour, depth);
    });
}

// Walk the marked lines. A bottom-up level does so again and again, until no row waits.
__device__ __forceinline__ void read_level(Steps& steps, const Source&, bool pulls, u32 depth, u64& host, u64& held) {
    HostRows& s = steps.s;
    const Counted& counted = steps.counted;
    for (Reach reach; counted.last_word;) {
        u64 first = counted.first_word, last = counted.last_word, marked = counted.marked + counted.kept;
        host += counted.marked;
        held += counted.kept;
        u32 width = ticket_width(last - first, marked);
        if (pulls)
            pull_lines(s, &s.control[TICKET], first, last, width, 0, depth, reach);
        else
            push_lines(s, &s.control[TICKET], first, last, width, 0, depth);
        steps.end();
        if (!pulls) break;
        reach.grow(marked);
        wait_on(s, reach);
        steps.end();
    }
}
