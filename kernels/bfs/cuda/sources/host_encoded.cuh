// Encoded rows in host memory. A row is read by its layout alone, so marked lines are first copied to the device, in
// ascending order, each whole and once.
//
// A part is a range of vertices whose bytes fit a buffer; there are two, so that in one step part k is copied
// into one while the rows of part k - 1 are decoded from the other. Lines keep their places, hence a row is read
// with its offsets, through a pointer moved by the part's first byte.
//
// Contract. Rows as in kernels/layouts/rows.cuh, the stream, in whole words of 16 bytes, wherever the device can read;
// all else on the device. part_vertices u64 (parts + 1), multiples of 32 but the last; long_rows VERTEX, the rows of
// more than LONG_BYTES, ascending, long_before u64 (parts + 1) how many lie before each part; room bytes of a buffer, a
// multiple of 128. `longer` marks the rows that have more neighbours than heads.

#include "kernels/bfs/cuda/host_steps.cuh"
#include "kernels/layouts/part.cuh"

constexpr u32 MAX_THREADS = 256;
constexpr u32 PIECES = LINE / 16; // of a line, one a lane
constexpr u32 AT_ONCE = 4;        // pieces that a lane has under way

#define SOURCE_PARAMETERS                                                                                              \
    ROWS_PARAMETERS, u64 stream_bytes, const u64 *part_vertices, const VERTEX *long_rows, const u64 *long_before,      \
        u8 *buffers, u64 part_count, u64 room
#define HEADS_PARAMETERS const VERTEX *heads, const u32 *longer, const u32 *closed
#define SIZES_PARAMETERS u64 vertices
#define SOURCE make_source(make_rows(ROWS_ARGUMENTS), stream_bytes, {part_vertices, long_rows, long_before, buffers, part_count, room}, longer)

struct Parts {
    const u64* vertices;
    const VERTEX* long_rows;
    const u64* long_before;
    u8* buffers;
    u64 count, room;
};

struct Source {
    Rows rows;
    const i64* row_offsets;
    const VERTEX *columns, *first_rows;  // which these rows have none of
    u64 stream_bytes;
    Parts parts;
    const u32* longer;

    __device__ __forceinline__ u64 weight(u64 vertices) const { return u64(row_offsets[vertices]); }
    __device__ __forceinline__ void end_level(const HostRows& s) const {
        for (u64 word = global_thread(); word < s.line_words; word += global_threads()) s.lines[word] = 0;
    }
};

__device__ __forceinline__ Source make_source(const Rows& rows, u64 stream_bytes, const Parts& parts, const u32* longer) {
    return {rows, rows.byte_offsets, nullptr, nullptr, stream_bytes, parts, longer};
}

// The first line of a part and one more than its last.
__device__ __forceinline__ void part_lines(const HostRows& s, const Parts& parts, u64 part, u64& first, u64& last) {
    first = u64(s.row_offsets[parts.vertices[part]]) / LINE;
    last = (u64(s.row_offsets[parts.vertices[part + 1]]) + LINE - 1) / LINE;
}

// Copy the marked lines of a part into its buffer. Warps take words of the bitmap of lines from a counter.
__device__ __forceinline__ void copy_part(const HostRows& s, const Parts& parts, const u8* stream, u64 stream_bytes,
                                          u64 part, u64 marked) {
    u64 first, last;
    part_lines(s, parts, part, first, last);
    // Marks are taken to lie as thinly here as in all parts.
    u64 words = (last + LINES - 1) / LINES - first / LINES, here = marked * words / s.line_words;
    u32 width = ticket_width(words, here);
    u8* buffer = parts.buffers + part % 2 * parts.room;
    while (true) {
        u64 at = 0;
        if (lane_id() == 0) at = atomicAdd(&s.control[TICKET], 1ull);
        at = first / LINES + __shfl_sync(ALL_LANES, at, 0) * width;
        if (at * LINES >= last) return;
        u32 own = 0;
        if (lane_id() < width && (at + lane_id()) * LINES < last) own = s.lines[at + lane_id()];
        // A line that two parts share is in both.
        u64 from = (at + lane_id()) * LINES;
        if (from < first) own &= ~low_bits(u32(first - from));
        if (from + LINES > last) own &= from < last ? low_bits(u32(last - from)) : 0;
        each_word(s, at, own, [&](u64 word, u32 bits, u32 here) {
            while (bits) {
                uint4 piece[AT_ONCE];
                u64 place[AT_ONCE];
                bool live[AT_ONCE];
#pragma unroll
                for (u32 k = 0; k < AT_ONCE; ++k) {
                    u32 mine = bits;
                    for (u32 skip = 0; skip < WARP / PIECES; ++skip) {
                        if (skip == lane_id() / PIECES) mine = bits;
                        bits &= bits - 1;
                    }
                    u32 bit = mine ? __ffs(mine) - 1 : 0, within = lane_id() % PIECES * 16;
                    place[k] = (word * LINES + bit) * LINE + within;
                    live[k] = mine && place[k] < stream_bytes;
                    const u8* source = stream + place[k];
                    if (here >> bit & 1)
                        source = reinterpret_cast<const u8*>(s.kept) +
                                 (u64(s.kept_before[word]) + __popc(here & low_bits(bit))) * LINE + within;
                    if (live[k]) piece[k] = *reinterpret_cast<const uint4*>(source);
                }
#pragma unroll
                for (u32 k = 0; k < AT_ONCE; ++k)
                    if (live[k]) *reinterpret_cast<uint4*>(buffer + (place[k] - first * LINE)) = piece[k];
            }
        });
    }
}

// Decode the rows of a part that `chosen` has, of which all lines are in its buffer.
template <class Visit>
__device__ __forceinline__ void decode_part(const HostRows& s, const Parts& parts, Rows rows, u64 part, const u32* chosen,
                                            Visit visit) {
    u64 first, last;
    part_lines(s, parts, part, first, last);
    rows.stream = parts.buffers + part % 2 * parts.room - first * LINE;
    RowRange range{parts.vertices[part], parts.vertices[part + 1], parts.long_rows, parts.long_before[part],
                   parts.long_before[part + 1]};
    decode_range(rows, range, &s.control[ROW_TICKET], [&](u64 word) { return chosen[word]; }, visit);
}

// Copy and decode all parts, one step after the other, with one decoded while the next is copied.
template <class Visit>
__device__ __forceinline__ void read_rows(Steps& steps, const Source& source, const u32* chosen, u64 marked, Visit visit) {
    const HostRows& s = steps.s;
    const Parts& parts = source.parts;
    for (u64 part = 0; part <= parts.count; ++part) {
        // Half of the blocks begin with each of the two, since one waits for the link and the other does not.
        bool copies_first = blockIdx.x % 2 == 0;
        if (copies_first && part < parts.count) copy_part(s, parts, source.rows.stream, source.stream_bytes, part, marked);
        if (part) decode_part(s, parts, source.rows, part - 1, chosen, visit);
        if (!copies_first && part < parts.count) copy_part(s, parts, source.rows.stream, source.stream_bytes, part, marked);
        steps.end();
    }
}

// Bottom-up: look among the heads of all that is unvisited; what has more neighbours waits for its row.
__device__ __forceinline__ void look_at_heads(const HostRows& s, const Source& source, u32 depth) {
    Marked marked;
    for (u64 word = global_thread() / WARP; word < s.words; word += global_threads() / WARP) {
        u32 open = ~s.visited[word];
        u64 vertex = word * 32 + lane_id();
        bool mine = open >> lane_id() & 1 && vertex < s.vertices;
        VERTEX predecessor = NO_VERTEX;
        for (u32 k = 0; mine && k < s.head_count && predecessor == NO_VERTEX; ++k) {
            VERTEX head = s.heads[vertex * s.head_count + k];
            if (head == NO_VERTEX) break;
            if (test_bit(s.visited, head)) predecessor = head;
        }
        bool hit = predecessor != NO_VERTEX;
        if (hit) {
            if (TREE)
                s.keys[vertex] = make_key(depth, predecessor);
            else
                s.distance[vertex] = i32(depth);
        }
        bool waits = mine && !hit && source.longer[word] >> lane_id() & 1;
        u32 hits = __ballot_sync(ALL_LANES, hit), left = __ballot_sync(ALL_LANES, waits);
        if (lane_id() == 0) {
            s.next[word] = hits;
            s.waiting[word] = left;
        }
        u64 from = 0, upto = 0;
        if (waits) row_lines(s.row_offsets[vertex], s.row_offsets[vertex + 1], from, upto);
        if (left) mark_lines(s, marked, from, upto);
    }
    marked.add(s);
}

__device__ __forceinline__ void read_level(Steps& steps, const Source& source, bool pulls, u32 depth, u64& host, u64& held) {
    HostRows& s = steps.s;
    u64 marked = steps.counted.marked + steps.counted.kept;
    host += steps.counted.marked;
    held += steps.counted.kept;
    if (!marked) return;
    read_rows(steps, source, pulls ? s.waiting : s.frontier, marked, [&](VERTEX row, VERTEX neighbour, bool valid) {
        // Top-down an unvisited neighbour is found, bottom-up a row with a visited one.
        if (valid && test_bit(s.visited, neighbour) == pulls)
            claim(s, pulls ? row : neighbour, pulls ? neighbour : row, depth);
    });
}
