// BFS over rows in host memory that the device reads over its link, in one cooperative launch; see
// host_rows.cuh for what it keeps and lines.cuh for how rows are read. Levels go top-down, or, with heads, in the
// direction that reads less (Beamer, Asanovic, Patterson, SC 2012, for the two directions).
//
// Contract. row_offsets i64 (vertices + 1) and all that `kernels/bfs/cuda/host_rows.py` makes lie on the device;
// columns VERTEX, sorted by row, may lie in pinned host memory. `closed`, `heads` and `waiting` are null, and
// `head_count` 0, where levels go top-down alone. Block: a multiple of 32. Grid: no more blocks than run at the
// same time.
//
// variants VERTEX: u32 u64
// variants TREE: 0 32 33

#include "kernels/bfs/lines.cuh"

// Words of `log`: levels, lines read from host memory, lines read from those that the device keeps; then one word
// per level, 1 where it went bottom-up.
constexpr u32 LOG_LEVELS = 0, LOG_HOST = 1, LOG_KEPT = 2, LOG_FIRST = 3;

// What all threads of a block know, read after a barrier by its first thread.
struct Counted {
    u64 marked, kept, first_word, last_word, found, arcs;
};

// A barrier, and what the step before it counted.
__device__ __forceinline__ void end_step(HostRows& s, Counted& counted, u64* control, u64* arrivals, u32& step) {
    grid_barrier(arrivals);
    if (threadIdx.x == 0) {
        const u64* read = s.control;
        u64 first = load_relaxed(&read[FIRST_WORD]);
        counted = {load_relaxed(&read[MARKED]),  load_relaxed(&read[KEPT]),  first ? ~first : 0,
                   load_relaxed(&read[LAST_WORD]), load_relaxed(&read[FOUND]), load_relaxed(&read[ARCS])};
    }
    if (blockIdx.x == 0 && threadIdx.x < CONTROL_WORDS) control[(step + 2) % SIDES * CONTROL_WORDS + threadIdx.x] = 0;
    ++step;
    s.control = control + step % SIDES * CONTROL_WORDS;
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(512, 2)
    search(const i64* row_offsets, const VERTEX* columns, const VERTEX* first_rows, const VERTEX* kept,
           const u32* kept_lines, const u32* kept_before, const VERTEX* heads, const u32* closed, u32* visited,
           u32* frontier, u32* next, u32* waiting, u32* lines, i32* distance, u64* keys, i64* predecessor,
           u64* control, u64* log, u64* arrivals, u64 vertices, u64 arcs, u64 head_count, double alpha, u64 max_depth,
           u64 logged, u64 source) {
    __shared__ Counted counted;
    HostRows s{row_offsets, columns, first_rows, kept, kept_lines, kept_before, heads, closed, visited, frontier,
               next, waiting, lines, distance, keys, control, vertices, (vertices + 31) / 32, arcs,
               (arcs + SPAN - 1) / SPAN, u32(head_count)};
    u32 step = 0;
    if (blockIdx.x == 0)
        for (u32 i = threadIdx.x; i < SIDES * CONTROL_WORDS; i += blockDim.x) control[i] = 0;
    begin_search(s, source);
    end_step(s, counted, control, arrivals, step);

    u64 found = 1, unseen = arcs, level = 0, host = 0, held = 0;
    u64 frontier_arcs = u64(row_offsets[source + 1] - row_offsets[source]);
    while (found && level < max_depth) {
        unseen = unseen > frontier_arcs ? unseen - frontier_arcs : 0;
        bool pulls = s.head_count && double(frontier_arcs) * alpha > double(unseen);
        if (global_thread() == 0 && level < logged) log[LOG_FIRST + level] = pulls;
        u32 depth = u32(level) + 1;
        if (pulls)
            look_at_heads(s, depth);
        else
            mark_frontier(s);
        end_step(s, counted, control, arrivals, step);
        for (u32 round = 0; counted.last_word; ++round) {
            u64 first = counted.first_word, last = counted.last_word, marked = counted.marked + counted.kept;
            host += counted.marked;
            held += counted.kept;
            u32 width = ticket_width(last - first, marked);
            if (pulls)
                pull_lines(s, &s.control[TICKET], first, last, width, 0, depth, round);
            else
                push_lines(s, &s.control[TICKET], first, last, width, 0, depth);
            end_step(s, counted, control, arrivals, step);
            if (!pulls) break;
            wait_on(s, round + 1);
            end_step(s, counted, control, arrivals, step);
        }
        turn(s);
        end_step(s, counted, control, arrivals, step);
        found = counted.found;
        frontier_arcs = counted.arcs;
        ++level;
    }
    write_wide(s.keys, s.distance, predecessor, s.vertices);
    if (global_thread() == 0) {
        log[LOG_LEVELS] = level;
        log[LOG_HOST] = host;
        log[LOG_KEPT] = held;
    }
}

// Before any search: the row that each word's first column is in, and the last row at the end.
extern "C" __global__ void find_first_rows(const i64* row_offsets, u64 vertices, u64 arcs, VERTEX* first_rows) {
    HostRows s{};
    s.row_offsets = row_offsets;
    u64 words = (arcs + SPAN - 1) / SPAN;
    for (u64 word = global_thread(); word <= words; word += global_threads())
        first_rows[word] = VERTEX(word < words ? row_of(s, 0, vertices - 1, i64(word * SPAN)) : vertices - 1);
}

// Before any search: the first `count` neighbours of the rows whose columns lie between `begin` and `end`, and are
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

// Before any search: set the bits of the lines of every row of at least `least` arcs.
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

// Before any search: how many lines rows have, by their length in steps of an eighth of an octave, for
// LENGTHS lengths. A line that rows share counts for each of them.
constexpr u32 LENGTHS = 64 * 8;

extern "C" __global__ void count_lines(const i64* row_offsets, u64 vertices, u64* counts) {
    __shared__ u64 own[LENGTHS];
    for (u32 i = threadIdx.x; i < LENGTHS; i += blockDim.x) own[i] = 0;
    __syncthreads();
    for (u64 vertex = global_thread(); vertex < vertices; vertex += global_threads()) {
        u64 from, upto;
        i64 begin = row_offsets[vertex], end = row_offsets[vertex + 1];
        row_lines(begin, end, from, upto);
        if (end == begin) continue;
        u64 length = u64(end - begin);
        u32 octave = 63 - __clzll(i64(length));
        u32 eighth = u32(octave >= 3 ? length >> (octave - 3) : length << (3 - octave)) & 7;
        atomicAdd(&own[octave * 8 + eighth], upto - from);
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < LENGTHS; i += blockDim.x)
        if (own[i]) atomicAdd(&counts[i], own[i]);
}

// Before any search: bits of each word.
extern "C" __global__ void count_bits(const u32* bitmap, u64 words, u32* counts) {
    for (u64 word = global_thread(); word < words; word += global_threads()) counts[word] = __popc(bitmap[word]);
}

// Before any search: vertices without arcs.
extern "C" __global__ void find_closed(const i64* row_offsets, u64 vertices, u32* closed) {
    for (u64 base = global_thread() - lane_id(); base < vertices; base += global_threads()) {
        u64 vertex = base + lane_id();
        u32 none = __ballot_sync(ALL_LANES, vertex >= vertices || row_offsets[vertex + 1] == row_offsets[vertex]);
        if (lane_id() == 0) closed[base / 32] = none;
    }
}

// Before any search: copy the lines whose bits are set, of words `first` to below `last`, to their places.
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
