// Bottom-up: every unvisited vertex looks for a visited neighbour and stops at the first.
//
// A warp owns up to 8 words (256 vertices) at a time and alone writes them. Neighbours are tried in ascending
// order, so the one that hits is the smallest predecessor; a search without predecessors may try those of high degree
// first (see by_degree.cu). The first two lie in `first_neighbours`, read in step with the vertices, and the next ones
// may lie in `planes`; the few vertices that need more are collected and have their rows read. The start of the bitmap is kept in shared memory: it is probed at random, and where vertices
// are numbered by descending degree nearly all probes fall there. Where they are, a warp also owns many of the
// longest rows: those wait until the block has nothing else to do, and are read by all of it.
//
// Who includes this has a Search (first_neighbours, planes, plane_count, exact, other, words, record, ...) and says
// how rows are read: look_at_words(level, words, stride, word) goes through the words of a warp from `word` on, checks
// their vertices and reads rows where enough wait for it, and scan_deferred(level, vertex, nearest) reads the row of one
// vertex of level.deferred by the whole block. DEFER_ROWS says whether rows are deferred at all: it costs registers and
// code that graphs whose long rows soon meet a visited neighbour do without.

constexpr u32 WIDEST_GROUP = 8;  // words that a warp takes at once, if there are enough for all warps
constexpr u32 DENSE = 4;         // unvisited vertices per word from which lanes are tied to bits
constexpr u32 WAITING = 96;      // room for vertices that wait to be checked
constexpr u32 UNANSWERED = 160;  // and for those whose first neighbours did not hit
constexpr u32 IN_PLANE = 8;      // neighbours of a vertex in a plane: one sector of memory, if they are 32-bit
constexpr u32 DEFERRED = 64;     // longest rows that a block defers; further ones are read at once

constexpr u32 TESTED = sizeof(VERTEX) == 4 ? 8 : 2;  // neighbours that a lane tests at once
constexpr u32 AT_ONCE = TESTED / 2;                  // words whose vertices are checked together
constexpr u32 PARTS = ALL_LANES / ((1u << AT_ONCE) - 1);  // the first of every so many words

// The longest rows of a block, and the smallest visited neighbour found in the one that is being read.
struct Deferred {
    VERTEX vertex[DEFERRED];
    VERTEX nearest;
    u32 count;
};

struct Pull;
__device__ __forceinline__ void look_at_words(Pull& level, u32 words, u32 stride, u32 word);
__device__ __forceinline__ void scan_deferred(const Pull& level, VERTEX vertex, VERTEX* nearest);

struct Pull {
    const Search& s;
    const u32* cache;
    u32 cached;
    VERTEX* waiting;
    VERTEX* unanswered;
    Deferred* deferred;
    u32 depth;
    u32 width;  // words of a group
    u32 waiting_count = 0, unanswered_count = 0;
    u32 found = 0;

    // Which of K vertices are visited, a bit each; NO_VERTEX is not. No probe waits for another: a branch
    // between them would cost the latency of every one.
    template <u32 K>
    __device__ __forceinline__ u32 visited(const VERTEX (&vertex)[K]) const {
        u32 bits[K], seen = 0;
#pragma unroll
        for (u32 k = 0; k < K; ++k) {
            u32 word = vertex[k] == NO_VERTEX ? 0 : u32(vertex[k] >> 5);
            bits[k] = (word < cached ? cache : s.exact)[word];
        }
#pragma unroll
        for (u32 k = 0; k < K; ++k) seen |= u32(vertex[k] != NO_VERTEX && (bits[k] >> (vertex[k] & 31) & 1)) << k;
        return seen;
    }

    // The first of the vertices whose bit is set, else NO_VERTEX.
    template <u32 K>
    __device__ __forceinline__ static VERTEX first_of(const VERTEX (&vertex)[K], u32 seen) {
        VERTEX result = NO_VERTEX;
#pragma unroll
        for (u32 k = K; k-- > 0;)
            if (seen >> k & 1) result = vertex[k];
        return result;
    }

    __device__ __forceinline__ void read_first(VERTEX vertex, VERTEX* first) const {
        struct alignas(2 * sizeof(VERTEX)) Pair { VERTEX first, second; };
        Pair pair = reinterpret_cast<const Pair*>(s.first_neighbours)[vertex];
        first[0] = pair.first;
        first[1] = pair.second;
    }

    // The next TESTED neighbours of a vertex from its planes, of which each has IN_PLANE / TESTED parts.
    __device__ __forceinline__ void in_plane(u32 part, VERTEX vertex, VERTEX (&neighbour)[TESTED]) const {
        constexpr u32 IN_PARTS = IN_PLANE / TESTED, QUADS = TESTED * sizeof(VERTEX) / sizeof(uint4);
        u64 place = (part / IN_PARTS * s.words * WARP + vertex) * IN_PARTS + part % IN_PARTS;
        const uint4* from = reinterpret_cast<const uint4*>(s.planes) + place * QUADS;
        union { uint4 quads[QUADS]; VERTEX values[TESTED]; } read;
#pragma unroll
        for (u32 k = 0; k < QUADS; ++k) read.quads[k] = __ldg(&from[k]);
#pragma unroll
        for (u32 k = 0; k < TESTED; ++k) neighbour[k] = read.values[k];
    }

    __device__ __forceinline__ void hit(VERTEX vertex, VERTEX predecessor) {
        set_bit(s.other, vertex);
        record(s, vertex, depth, predecessor);
        ++found;
    }

    __device__ __forceinline__ void leave_unanswered(bool mine, VERTEX vertex) {
        u32 lanes = __ballot_sync(ALL_LANES, mine);
        if (mine) unanswered[unanswered_count + __popc(lanes & lanes_below())] = vertex;
        unanswered_count += __popc(lanes);
    }

    // Whether a row may wait until the whole block reads it.
    __device__ __forceinline__ bool defer(VERTEX vertex) {
        u32 place = atomicAdd(&deferred->count, 1);
        if (place < DEFERRED) deferred->vertex[place] = vertex;
        return place < DEFERRED;
    }

    // Read what was deferred, one row after another; all threads of the block call it, after a barrier.
    __device__ __forceinline__ void read_deferred() {
        u32 count = deferred->count < DEFERRED ? deferred->count : DEFERRED;
        found = 0;
        for (u32 i = 0; i < count; ++i) {
            if (threadIdx.x == 0) deferred->nearest = NO_VERTEX;
            __syncthreads();
            scan_deferred(*this, deferred->vertex[i], &deferred->nearest);
            __syncthreads();
            if (threadIdx.x == 0 && deferred->nearest != NO_VERTEX) hit(deferred->vertex[i], deferred->nearest);
        }
    }

    // The first neighbours of a vertex from its planes: its predecessor among them, or whether it needs its row.
    __device__ __forceinline__ VERTEX in_planes(VERTEX vertex, bool& active) const {
        VERTEX predecessor = NO_VERTEX;
        for (u32 part = 0; part < s.plane_count * (IN_PLANE / TESTED) && active; ++part) {
            VERTEX neighbour[TESTED];
            in_plane(part, vertex, neighbour);
            predecessor = first_of(neighbour, visited(neighbour));
            active = predecessor == NO_VERTEX && neighbour[TESTED - 1] != NO_VERTEX;
        }
        return predecessor;
    }

    // Look at up to 64 waiting vertices, two per lane.
    __device__ __forceinline__ void check_waiting() {
        u32 count = waiting_count < 2 * WARP ? waiting_count : 2 * WARP;
        waiting_count -= count;
        __syncwarp();
        bool active[2];
        VERTEX vertex[2], neighbour[4];
#pragma unroll
        for (u32 k = 0; k < 2; ++k) {
            active[k] = k * WARP + lane_id() < count;
            vertex[k] = active[k] ? waiting[waiting_count + k * WARP + lane_id()] : VERTEX(0);
            neighbour[2 * k] = neighbour[2 * k + 1] = NO_VERTEX;
            if (active[k]) read_first(vertex[k], &neighbour[2 * k]);
        }
        u32 seen = visited(neighbour);
#pragma unroll
        for (u32 k = 0; k < 2; ++k) {
            u32 mine = seen >> 2 * k & 3;
            // A choice of values: with one of places, the array would lie in local memory.
            if (mine) hit(vertex[k], mine & 1 ? neighbour[2 * k] : neighbour[2 * k + 1]);
            leave_unanswered(!mine && neighbour[2 * k + 1] != NO_VERTEX, vertex[k]);
        }
    }

    // AT_ONCE words with many unvisited vertices: lane i looks at bit i of each.
    __device__ __forceinline__ void check_dense(u32 word, u32 bits, u32 part) {
        VERTEX neighbour[TESTED];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) {
            bool unvisited_here = !(__shfl_sync(ALL_LANES, bits, part + k) >> lane_id() & 1);
            neighbour[2 * k] = neighbour[2 * k + 1] = NO_VERTEX;
            if (unvisited_here) read_first(VERTEX(word + part + k) * 32 + lane_id(), &neighbour[2 * k]);
        }
        // All first_neighbours are asked for before one is awaited: else the compiler saves registers by a wait for each.
        __syncwarp();
        u32 newly_visited = 0, seen = visited(neighbour);
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) {
            VERTEX vertex = VERTEX(word + part + k) * 32 + lane_id();
            u32 mine = seen >> 2 * k & 3;
            u32 hits = __ballot_sync(ALL_LANES, mine != 0);
            if (lane_id() == part + k) newly_visited = hits;
            if (mine) record(s, vertex, depth, mine & 1 ? neighbour[2 * k] : neighbour[2 * k + 1]);
            leave_unanswered(!mine && neighbour[2 * k + 1] != NO_VERTEX, vertex);
        }
        // Stored before any row is read: a hit found there is added to the stored word.
        if (lane_id() - part < AT_ONCE && lane_id() < width) {
            s.other[word + lane_id()] = bits | newly_visited;
            found += __popc(newly_visited);
        }
        __syncwarp();
    }

    // The word of this lane, of those from `word` on that the warp looks at, if it has one.
    __device__ __forceinline__ u32 read_word(bool own, u32 word, u32 words) const {
        return own && word < words ? s.exact[word + lane_id()] : ~0u;
    }

    // Whether words have so many unvisited vertices that lanes are tied to bits.
    __device__ __forceinline__ bool is_dense(u32 bits) const {
        u32 unseen = __popc(~bits);
        for (u32 step = WIDEST_GROUP / 2; step; step /= 2) unseen += __shfl_xor_sync(ALL_LANES, unseen, step);
        return __shfl_sync(ALL_LANES, unseen, 0) >= DENSE * width;
    }

    // The unvisited vertices of a word, of which lane `from` has the bits, wait to be checked.
    __device__ __forceinline__ void let_wait(u32 word, u32 bits, u32 from) {
        u32 unvisited = ~__shfl_sync(ALL_LANES, bits, from);
        if (unvisited >> lane_id() & 1)
            waiting[waiting_count + __popc(unvisited & lanes_below())] = VERTEX(word + from) * 32 + lane_id();
        waiting_count += __popc(unvisited);
    }
};

// One bottom-up level. `room` bytes of shared memory hold the warps' lists and the cached words.
__device__ __forceinline__ void pull(const Search& s, Progress& p, u64* arena, u64 room, double words_per_unvisited,
                                     u64 candidates) {
    u32 warps = blockDim.x / WARP;
    VERTEX* lists = reinterpret_cast<VERTEX*>(arena);
    u32* cache = reinterpret_cast<u32*>(lists + u64(warps) * (WAITING + UNANSWERED));
    u64 unvisited = candidates > p.visited ? candidates - p.visited : 0;
    u64 fits = room / sizeof(u32) - u64(warps) * (WAITING + UNANSWERED) * (sizeof(VERTEX) / sizeof(u32));
    u64 worth = u64(double(unvisited) * words_per_unvisited);
    u64 most = s.words < fits ? s.words : fits;
    u32 cached = u32(most < worth ? most : worth) & ~3u;
    for (u32 i = threadIdx.x; i < cached / 4; i += blockDim.x)
        reinterpret_cast<uint4*>(cache)[i] = reinterpret_cast<const uint4*>(s.exact)[i];
    __shared__ Deferred deferred;
    if (DEFER_ROWS && threadIdx.x == 0) deferred.count = 0;
    __syncthreads();

    u64 all_warps = global_threads() / WARP;
    u32 width = WIDEST_GROUP;
    while (width > 1 && s.words < 2 * all_warps * width) width /= 2;
    Pull level{s, cache, cached, lists + warp_id() * (WAITING + UNANSWERED), lists + warp_id() * (WAITING + UNANSWERED) + WAITING,
              &deferred, p.level + 1, width};
    // 32 bits count the words of more vertices than a device has labels for, and half the registers.
    u32 words = u32(s.words), stride = u32(all_warps) * width;
    look_at_words(level, words, stride, (warp_id() * gridDim.x + blockIdx.x) * width);
    add_totals(s, p, level.found, 0);
    if (!DEFER_ROWS || !deferred.count) return;
    level.read_deferred();
    add_totals(s, p, level.found, 0);
}
