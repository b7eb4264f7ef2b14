// BFS over encoded rows in host memory that the device reads over its link, in one cooperative launch. What is
// kept, and the lines of a level, are those of kernels/bfs/host_rows.cuh; but an encoded row is read by its
// layout alone, so marked lines are first copied to the device, in ascending order, each whole and once.
//
// A part is a range of vertices whose bytes fit a buffer; there are two, so that in one step part k is copied
// into one while the rows of part k - 1 are decoded from the other. Lines keep their places, hence a row is read
// with its offsets, through a pointer moved by the part's first byte.
//
// Contract. Rows as in kernels/layouts/rows.cuh, the stream, in whole words of 16 bytes, wherever the device can
// read; all else on the device. part_vertices u64 (parts + 1), multiples of 32 but the last; long_rows VERTEX, the
// rows of more than LONG_BYTES, ascending, long_before u64 (parts + 1) how many lie before each part; room bytes
// of a buffer, a multiple of 128. `kept` and what goes with it are lines that the device has. `heads`, `longer`, `closed` and `waiting` are null, and `head_count` 0, where levels
// go top-down alone. Block: a multiple of 32. Grid: no more blocks than run at the same time.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh with byte_offsets
// variants VERTEX: u32 u64
// variants TREE: 0 32 33

#define ROWS_OF_BYTES
#include "kernels/bfs/host_steps.cuh"
#include "kernels/layouts/part.cuh"

constexpr u32 LOG_LEVELS = 0, LOG_HOST = 1, LOG_KEPT = 2, LOG_FIRST = 3;  // as in kernels/bfs/host_rows.cu
constexpr u32 PIECES = LINE / 16; // of a line, one a lane
constexpr u32 AT_ONCE = 4;        // pieces that a lane has under way

struct Parts {
    const u64* vertices;
    const VERTEX* long_rows;
    const u64* long_before;
    u8* buffers;
    u64 count, room;
};

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
        u32 some = __ballot_sync(ALL_LANES, own != 0);
        while (some) {
            u32 lane = __ffs(some) - 1;
            some &= some - 1;
            u64 word = at + lane;
            u32 bits = __shfl_sync(ALL_LANES, own, lane);
            u32 here = s.kept_lines ? s.kept_lines[word] : 0;
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
        }
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
__device__ __forceinline__ void read_rows(HostRows& s, const Parts& parts, const Rows& rows, u64 stream_bytes,
                                          const u32* chosen, u64 marked, Counted& counted, u64* control, u64* arrivals,
                                          u32& step, Visit visit) {
    for (u64 part = 0; part <= parts.count; ++part) {
        // Half of the blocks begin with each of the two, since one waits for the link and the other does not.
        bool copies_first = blockIdx.x % 2 == 0;
        if (copies_first && part < parts.count) copy_part(s, parts, rows.stream, stream_bytes, part, marked);
        if (part) decode_part(s, parts, rows, part - 1, chosen, visit);
        if (!copies_first && part < parts.count) copy_part(s, parts, rows.stream, stream_bytes, part, marked);
        end_step(s, counted, control, arrivals, step);
    }
}

// Bottom-up: look among the heads of all that is unvisited; what has more neighbours waits for its row.
__device__ __forceinline__ void look_at_all_heads(const HostRows& s, const u32* longer, u32 depth) {
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
        bool waits = mine && !hit && longer[word] >> lane_id() & 1;
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

extern "C" __global__ void __launch_bounds__(256, 2)
    search(ROWS_PARAMETERS, u64 stream_bytes, const u64* part_vertices, const VERTEX* long_rows, const u64* long_before,
           u8* buffers, u64 part_count, u64 room, const VERTEX* kept, const u32* kept_lines, const u32* kept_before,
           const VERTEX* heads, const u32* longer, const u32* closed, u32* visited, u32* frontier, u32* next,
           u32* waiting, u32* lines, i32* distance, u64* keys, i64* predecessor, u64* control, u64* log, u64* arrivals,
           u64 vertices, u64 head_count, double alpha, u64 max_depth, u64 logged, u64 source) {
    __shared__ Counted counted;
    Rows rows = make_rows(ROWS_ARGUMENTS);
    u64 bytes = u64(rows.byte_offsets[vertices]);
    HostRows s{rows.byte_offsets, nullptr, nullptr, kept, kept_lines, kept_before, heads, closed, visited, frontier,
               next, waiting, lines, distance, keys, control, vertices, (vertices + 31) / 32, bytes,
               (bytes + SPAN - 1) / SPAN, u32(head_count)};
    Parts parts{part_vertices, long_rows, long_before, buffers, part_count, room};
    u32 step = 0;
    if (blockIdx.x == 0)
        for (u32 i = threadIdx.x; i < SIDES * CONTROL_WORDS; i += blockDim.x) control[i] = 0;
    begin_search(s, source);
    end_step(s, counted, control, arrivals, step);

    u64 found = 1, unseen = bytes, level = 0, host = 0, held = 0;
    u64 frontier_bytes = u64(rows.byte_offsets[source + 1] - rows.byte_offsets[source]);
    while (found && level < max_depth) {
        unseen = unseen > frontier_bytes ? unseen - frontier_bytes : 0;
        bool pulls = s.head_count && double(frontier_bytes) * alpha > double(unseen);
        if (global_thread() == 0 && level < logged) log[LOG_FIRST + level] = pulls;
        u32 depth = u32(level) + 1;
        if (pulls)
            look_at_all_heads(s, longer, depth);
        else
            mark_frontier(s);
        end_step(s, counted, control, arrivals, step);
        u64 marked = counted.marked + counted.kept;
        host += counted.marked;
        held += counted.kept;
        if (marked)
            read_rows(s, parts, rows, stream_bytes, pulls ? s.waiting : s.frontier, marked, counted, control, arrivals,
                      step, [&](VERTEX row, VERTEX neighbour, bool valid) {
                          // Top-down an unvisited neighbour is found, bottom-up a row with a visited one.
                          if (valid && test_bit(s.visited, neighbour) == pulls)
                              claim(s, pulls ? row : neighbour, pulls ? neighbour : row, depth);
                      });
        turn(s);
        for (u64 word = global_thread(); word < s.line_words; word += global_threads()) s.lines[word] = 0;
        end_step(s, counted, control, arrivals, step);
        found = counted.found;
        frontier_bytes = counted.arcs;
        ++level;
    }
    write_wide(s.keys, s.distance, predecessor, s.vertices);
    if (global_thread() == 0) {
        log[LOG_LEVELS] = level;
        log[LOG_HOST] = host;
        log[LOG_KEPT] = held;
    }
}
