// BFS over rows that come part by part while it runs: the steps of a level as launches of their own, between which
// the host reads parts and copies them to the device. See host_rows.cuh for the state and lines.cuh for how the
// lines of a part are walked; every word of lines belongs to one part.
//
// Contract. As for host_rows.cu, and `columns` of push_part begin with column `base`. The host zeroes the CONTROL
// words before mark and turn, and a ticket before each push_part.
//
// variants VERTEX: u32 u64
// variants TREE: 0 32 33

#include "kernels/bfs/lines.cuh"

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

extern "C" __global__ void begin(STATE_PARAMETERS, u64 source) { begin_search(STATE, source); }

extern "C" __global__ void mark(STATE_PARAMETERS) { mark_frontier(STATE); }

// Say of each part of `words` words of lines how many lines of it are marked.
extern "C" __global__ void count_parts(STATE_PARAMETERS, u64 words, u64 parts, u32* counts) {
    u64 all = (arcs + SPAN - 1) / SPAN;
    for (u64 part = blockIdx.x; part < parts; part += gridDim.x) {
        u64 last = (part + 1) * words < all ? (part + 1) * words : all;
        u32 count = 0;
        for (u64 word = part * words + threadIdx.x; word < last; word += blockDim.x) count += __popc(lines[word]);
        count = warp_sum(count);
        if (threadIdx.x == 0) counts[part] = 0;
        __syncthreads();
        if (lane_id() == 0 && count) atomicAdd(&counts[part], count);
        __syncthreads();
    }
}

extern "C" __global__ void push_part(STATE_PARAMETERS, const VERTEX* columns, u64 first, u64 last, u64 marked, u64 depth,
                                     u64* ticket) {
    HostRows s = STATE;
    s.columns = columns;
    push_lines(s, ticket, first, last, ticket_width(last - first, marked), first * SPAN, u32(depth));
}

extern "C" __global__ void end_level(STATE_PARAMETERS) { turn(STATE); }

extern "C" __global__ void finish(STATE_PARAMETERS) { write_wide(keys, distance, predecessor, vertices); }
