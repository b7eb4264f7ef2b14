// State of a search whose rows lie in host memory, and the steps that do not read rows.
//
// A link to host memory carries 128-byte lines, fast in ascending order and slowly at random (on one H200 51
// against 5.6 GB/s). So a level first marks, in a bitmap of lines, what it has to read, and then walks that
// bitmap in ascending order: every line crosses the link once a level however many rows share it, whole and
// aligned (lines.cuh). The idea of merged, aligned reads is that of Min et al., EMOGI, PVLDB 14(2), 2020,
// section 4.3; lines instead of rows are gravel's.
//
// Bitmaps by vertex: `visited` (and vertices that no arc reaches) changes between levels only, `frontier` is
// its newest part, `next` what this level finds. A vertex that is met from the top is claimed by an atomicMin
// on its key, or, with TREE = 0, by its bit in `next`.
//
// `heads` holds the first neighbours of every vertex, NO_VERTEX where there are fewer. A bottom-up level looks
// there first; the vertices that it leaves wait for their rows.
//
// Who includes this is compiled with LAYOUT. Of encoded rows `row_offsets` are those of bytes.

#include "kernels/bfs/cuda/labels.cuh"
#include "kernels/layouts/is_columns.cuh"

constexpr VERTEX NO_VERTEX = VERTEX(~VERTEX(0));
#if IS_COLUMNS(LAYOUT)
constexpr u32 LINE = 32;                 // columns that are read at once: one line of 128 bytes, two of u64
#else
constexpr u32 LINE = 128;                // bytes
#endif
constexpr u32 LINES = 32;                // of a word of the bitmap
constexpr u64 SPAN = u64(LINE) * LINES;  // columns, or bytes, of a word

// Words of `control`, of which there are SIDES copies: a step counts in its own, which is read after the
// barrier and zeroed two steps later, when no block can still be reading it. MARKED counts lines of host
// memory, KEPT those of the device; FIRST_WORD holds the complement of the first word of lines that a mark
// touched and LAST_WORD one more than the last, so that both grow from 0.
enum Control : u32 { TICKET = 0, ROW_TICKET = 8, MARKED = 16, KEPT, FIRST_WORD, LAST_WORD, FOUND, ARCS, CONTROL_WORDS = 32 };
constexpr u32 SIDES = 4;

struct HostRows {
    const i64* row_offsets;
    const VERTEX* columns;
    const VERTEX* first_rows;  // of each word of lines the row of its first column; one more for the end
    const VERTEX* kept;        // lines that the device has,
    const u32* kept_lines;     // their bits,
    const u32* kept_before;    // and how many lie before each word; null where the device has none
    const VERTEX* heads;       // (vertices, head_count)
    const u32* closed;         // vertices that no arc reaches
    u32 *visited, *frontier, *next, *waiting, *lines;
    i32* distance;
    u64* keys;
    u64* control;  // this step's copy
    u64 vertices, words, arcs, line_words;
    u32 head_count;
};

__device__ __forceinline__ bool test_bit(const u32* bitmap, u64 at) { return bitmap[at >> 5] >> (at & 31) & 1; }

__device__ __forceinline__ u32 low_bits(u32 count) { return count >= 32 ? ~0u : (1u << count) - 1; }

// What a step adds up, one value a lane, to a control word.
__device__ __forceinline__ void add_up(u64* control, u32 word, u64 value) {
    u64 sum = warp_sum(value);
    if (lane_id() == 0 && sum) atomicAdd(&control[word], sum);
}

// Claim `vertex`, not visited before this level, from `predecessor`. Several may claim it.
__device__ __forceinline__ void claim(const HostRows& s, VERTEX vertex, VERTEX predecessor, u32 depth) {
    u32 bit = 1u << (vertex & 31);
    u32* word = &s.next[vertex >> 5];
    if (TREE) {
        u64 key = make_key(depth, predecessor);
        if (s.keys[vertex] <= key) return;
        if (atomicMin(&s.keys[vertex], key) == UNREACHED) atomicOr(word, bit);
    } else if (!(*word & bit) && !(atomicOr(word, bit) & bit)) {
        s.distance[vertex] = i32(depth);
    }
}

// Lines that a warp has marked, counted by where they lie.
struct Marked {
    u64 host = 0, kept = 0, first = 0, last = 0;

    __device__ __forceinline__ void word(const HostRows& s, u64 at, u32 bits) {
        u32 fresh = bits & ~atomicOr(&s.lines[at], bits);
        u32 here = s.kept_lines ? s.kept_lines[at] & fresh : 0;
        host += __popc(fresh & ~here);
        kept += __popc(here);
        if (first < ~at) first = ~at;
        if (last < at + 1) last = at + 1;
    }

    __device__ __forceinline__ void add(const HostRows& s) {
        add_up(s.control, MARKED, host);
        add_up(s.control, KEPT, kept);
        for (u32 step = WARP / 2; step; step /= 2) {
            u64 one = __shfl_xor_sync(ALL_LANES, first, step), two = __shfl_xor_sync(ALL_LANES, last, step);
            first = first < one ? one : first;
            last = last < two ? two : last;
        }
        if (lane_id() == 0 && last) {
            atomicMax(&s.control[FIRST_WORD], first);
            atomicMax(&s.control[LAST_WORD], last);
        }
    }
};

// Words of lines that a warp takes at once, by how thinly the marks lie: about a word's worth of lines. Fewer where
// warps would go without: the lines of one ticket are read one after the other.
__device__ __forceinline__ u32 ticket_width(u64 words, u64 marked) {
    u64 width = marked ? words * LINES / marked : LINES, share = words / (global_threads() / WARP);
    width = width < share ? width : share;
    return width < 1 ? 1 : width > WARP ? WARP : u32(width);
}

// Call visit(word, bits, here) for those of a warp's words of lines that have any, one after the other: the word's number,
// its lines, and those that the device has. A lane's word has number `at` more than the lane, and lines `own`.
template <class Visit>
__device__ __forceinline__ void each_word(const HostRows& s, u64 at, u32 own, Visit visit) {
    u32 some = __ballot_sync(ALL_LANES, own != 0);
    while (some) {
        u32 lane = __ffs(some) - 1;
        some &= some - 1;
        u64 word = at + lane;
        u32 bits = __shfl_sync(ALL_LANES, own, lane);
        u32 here = s.kept_lines ? s.kept_lines[word] : 0;
        visit(word, bits, here);
    }
}

constexpr u64 ALONE = 2;  // words of lines that a lane marks before its warp helps

// Mark lines `from` to below `upto` of each lane; all lanes call it.
__device__ __forceinline__ void mark_lines(const HostRows& s, Marked& marked, u64 from, u64 upto) {
    bool any = from < upto;
    u64 first = from / LINES, last = any ? (upto - 1) / LINES : first;
    bool wide = any && last - first >= ALONE;
    if (any && !wide)
        for (u64 word = first; word <= last; ++word) {
            u32 below = word == first ? low_bits(u32(from % LINES)) : 0;
            u32 within = word == last ? low_bits(u32((upto - 1) % LINES) + 1) : ~0u;
            marked.word(s, word, within & ~below);
        }
    u32 left = __ballot_sync(ALL_LANES, wide);
    while (left) {
        u32 lane = __ffs(left) - 1;
        left &= left - 1;
        u64 a = __shfl_sync(ALL_LANES, from, lane), b = __shfl_sync(ALL_LANES, upto, lane);
        for (u64 word = a / LINES + lane_id(); word <= (b - 1) / LINES; word += WARP) {
            u32 below = word == a / LINES ? low_bits(u32(a % LINES)) : 0;
            u32 within = word == (b - 1) / LINES ? low_bits(u32((b - 1) % LINES) + 1) : ~0u;
            marked.word(s, word, within & ~below);
        }
    }
}

// The lines [from, upto) of a row, none where it is empty.
__device__ __forceinline__ void row_lines(i64 begin, i64 end, u64& from, u64& upto) {
    from = u64(begin) / LINE;
    upto = end > begin ? u64(end - 1) / LINE + 1 : from;
}

// Start: nothing visited but the source, no lines marked.
__device__ __forceinline__ void begin_search(const HostRows& s, u64 source) {
    for (u64 word = global_thread(); word < s.words; word += global_threads()) {
        u32 bit = word == source >> 5 ? 1u << (source & 31) : 0;
        s.visited[word] = (s.closed ? s.closed[word] : 0) | bit;
        s.frontier[word] = bit;
        s.next[word] = 0;
        if (s.waiting) s.waiting[word] = 0;
    }
    for (u64 word = global_thread(); word < s.line_words; word += global_threads()) s.lines[word] = 0;
    for (u64 v = global_thread(); v < s.vertices; v += global_threads()) {
        if (TREE)
            s.keys[v] = v == source ? make_key(0, NO_PREDECESSOR) : UNREACHED;
        else
            s.distance[v] = v == source ? 0 : -1;
    }
}

// Mark the lines of all rows of the frontier. A warp takes a word of it, a lane a vertex.
__device__ __forceinline__ void mark_frontier(const HostRows& s) {
    Marked marked;
    for (u64 word = global_thread() / WARP; word < s.words; word += global_threads() / WARP) {
        u32 bits = s.frontier[word];
        if (!bits) continue;
        u64 from = 0, upto = 0;
        if (bits >> lane_id() & 1) {
            u64 vertex = word * 32 + lane_id();
            row_lines(s.row_offsets[vertex], s.row_offsets[vertex + 1], from, upto);
        }
        mark_lines(s, marked, from, upto);
    }
    marked.add(s);
}

// End a level: what it found is the frontier.
__device__ __forceinline__ void turn(const HostRows& s) {
    u64 found = 0, arcs = 0;
    for (u64 word = global_thread() / WARP; word < s.words; word += global_threads() / WARP) {
        u32 bits = s.next[word], old = s.frontier[word];
        if (!bits && !old) continue;
        if (bits >> lane_id() & 1) {
            u64 vertex = word * 32 + lane_id();
            arcs += u64(s.row_offsets[vertex + 1] - s.row_offsets[vertex]);
        }
        if (lane_id() == 0) {
            found += __popc(bits);
            s.frontier[word] = bits;
            s.visited[word] |= bits;
            s.next[word] = 0;
        }
    }
    add_up(s.control, FOUND, found);
    add_up(s.control, ARCS, arcs);
}
