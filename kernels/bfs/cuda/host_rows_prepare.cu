// What a search of rows in host memory is made ready with: see host_rows.cuh for what each array is.
//
// Contract. row_offsets i64 (vertices + 1) on the device; columns VERTEX, wherever the device can read them.
//
// variants LAYOUT: csr
// variants VERTEX: u32 u64
// variants TREE: 0

#include "kernels/bfs/cuda/lines.cuh"

// The row that each word's first column is in, and the last row at the end.
extern "C" __global__ void find_first_rows(const i64* row_offsets, u64 vertices, u64 arcs, VERTEX* first_rows) {
    HostRows s{};
    s.row_offsets = row_offsets;
    u64 words = (arcs + SPAN - 1) / SPAN;
    for (u64 word = global_thread(); word <= words; word += global_threads())
        first_rows[word] = VERTEX(word < words ? row_of(s, 0, vertices - 1, i64(word * SPAN)) : vertices - 1);
}

// The first `count` neighbours of the rows whose columns lie between `begin` and `end`, and are
// at `columns` from `begin` on. A warp reads a word of lines. Heads that no row fills are NO_VERTEX already.
extern "C" __global__ void find_heads(const i64* row_offsets, const VERTEX* columns, const VERTEX* first_rows, u64 begin,
                                      u64 end, u64 count, VERTEX* heads) {
    HostRows s{};
    s.row_offsets = row_offsets;
    for (u64 at = begin + global_thread() / WARP * LINE; at < end; at += global_threads() / WARP * LINE) {
        u64 place = at + lane_id();
        if (place >= end) continue;
        u64 row = row_of(s, first_rows[at / SPAN], first_rows[at / SPAN + 1], i64(place));
        u64 within = place - u64(row_offsets[row]);
        if (within < count) heads[row * count + within] = columns[place - begin];
    }
}

// Set the bits of the lines of every row of at least `least` arcs.
extern "C" __global__ void mark_long_rows(const i64* row_offsets, u64 vertices, u64 least, u32* lines) {
    HostRows s{};
    s.lines = lines;
    Marked marked;
    for (u64 base = global_thread() - lane_id(); base < vertices; base += global_threads()) {
        u64 vertex = base + lane_id(), from = 0, upto = 0;
        if (vertex < vertices) {
            i64 begin = row_offsets[vertex], end = row_offsets[vertex + 1];
            if (u64(end - begin) >= least) row_lines(begin, end, from, upto);
        }
        mark_lines(s, marked, from, upto);
    }
}

// Bits of each word.
extern "C" __global__ void count_bits(const u32* bitmap, u64 words, u32* counts) {
    for (u64 word = global_thread(); word < words; word += global_threads()) counts[word] = __popc(bitmap[word]);
}

// Vertices without arcs.
extern "C" __global__ void find_closed(const i64* row_offsets, u64 vertices, u32* closed) {
    for (u64 base = global_thread() - lane_id(); base < vertices; base += global_threads()) {
        u64 vertex = base + lane_id();
        u32 none = __ballot_sync(ALL_LANES, vertex >= vertices || row_offsets[vertex + 1] == row_offsets[vertex]);
        if (lane_id() == 0) closed[base / 32] = none;
    }
}

// Copy the lines whose bits are set, of words `first` to below `last`, to their places.
extern "C" __global__ void keep_lines(const VERTEX* columns, const u32* kept_lines, const u32* kept_before, u64 first,
                                      u64 last, u64 arcs, VERTEX* kept) {
    for (u64 word = first + global_thread() / WARP; word < last; word += global_threads() / WARP) {
        u32 bits = kept_lines[word];
        u64 to = kept_before[word];
        while (bits) {
            u64 place = word * SPAN + u64(__ffs(bits) - 1) * LINE + lane_id();
            bits &= bits - 1;
            if (place < arcs) kept[to * LINE + lane_id()] = columns[place - first * SPAN];
            ++to;
        }
    }
}
