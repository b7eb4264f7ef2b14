// Streamed rows that are columns: a part is some words of lines, of which `mark` marks those that the frontier's rows lie
// in. See lines.cuh for how they are walked; `columns` of push_part begin with its first column.

#include "kernels/bfs/cuda/lines.cuh"

__device__ __forceinline__ HostRows state(const i64* row_offsets, const VERTEX* first_rows, u32* visited, u32* frontier,
                                          u32* next, u32* lines, i32* distance, u64* keys, u64* control, u64 vertices,
                                          u64 arcs) {
    HostRows s{};
    s.row_offsets = row_offsets, s.first_rows = first_rows;
    s.visited = visited, s.frontier = frontier, s.next = next, s.lines = lines;
    s.distance = distance, s.keys = keys, s.control = control;
    s.vertices = vertices, s.words = (vertices + 31) / 32;
    s.arcs = arcs, s.line_words = (arcs + SPAN - 1) / SPAN;
    return s;
}

#define STATE_PARAMETERS                                                                                              \
    const i64 *row_offsets, const VERTEX *first_rows, u32 *visited, u32 *frontier, u32 *next, u32 *lines,             \
        i32 *distance, u64 *keys, i64 *predecessor, u64 *control, u64 vertices, u64 arcs
#define STATE state(row_offsets, first_rows, visited, frontier, next, lines, distance, keys, control, vertices, arcs)

extern "C" __global__ void mark(STATE_PARAMETERS) { mark_frontier(STATE); }

// Say of each part of `words` words of lines how many lines of it are marked.
extern "C" __global__ void count_parts(STATE_PARAMETERS, u64 words, u64 parts, u32* counts) {
    u64 all = (arcs + SPAN - 1) / SPAN;
    for (u64 part = blockIdx.x; part < parts; part += gridDim.x) {
        u64 last = (part + 1) * words < all ? (part + 1) * words : all;
        u32 count = 0;
        for (u64 word = part * words + threadIdx.x; word < last; word += blockDim.x) count += __popc(lines[word]);
        add_part(counts, part, count);
    }
}

extern "C" __global__ void push_part(STATE_PARAMETERS, const VERTEX* columns, u64 first, u64 last, u64 marked, u64 depth,
                                     u64* ticket) {
    HostRows s = STATE;
    s.columns = columns;
    push_lines(s, ticket, first, last, ticket_width(last - first, marked), first * SPAN, u32(depth));
}
