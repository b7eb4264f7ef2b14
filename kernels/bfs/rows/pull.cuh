// Bottom-up: every unvisited vertex looks for a visited neighbour and stops at the first.
//
// As kernels/bfs/pull.cuh: a warp owns up to 8 words (256 vertices) at a time and alone writes them, the first
// two neighbours lie in `heads`, uncompressed, and the start of the bitmap is kept in shared memory. Only the
// vertices that their heads do not answer have their rows read: a lane each, which stops at its first hit, and
// by the whole warp where a lane has read LONG_SCAN neighbours in vain. Rows ascend, so the neighbour that hits
// is the smallest predecessor.

#include "kernels/bfs/rows/state.cuh"

constexpr u32 WIDEST_GROUP = 8;  // words that a warp takes at once, if there are enough for all warps
constexpr u32 DENSE = 8;         // unvisited vertices per word from which lanes are tied to bits
constexpr u32 OPEN = 96;         // room for vertices that wait to be looked at
constexpr u32 SLOW = 160;        // and for those whose heads did not hit
constexpr u32 LONG_SCAN = 64;    // neighbours that a lane tries before its warp helps
constexpr u32 AT_ONCE = 4;       // neighbours that a lane reads before it looks them up

struct Pull {
    const Search& s;
    const u32* cache;
    u64 cached;
    VERTEX* open;
    VERTEX* slow;
    u32 depth;
    u32 width;  // words of a group
    u32 open_held = 0, slow_held = 0;
    u64 found = 0;

    __device__ __forceinline__ bool visited(VERTEX vertex) const {
        u64 word = vertex >> 5;
        u32 bits = word < cached ? cache[word] : s.exact[word];
        return bits >> (vertex & 31) & 1;
    }

    __device__ __forceinline__ void head(VERTEX vertex, VERTEX& first, VERTEX& second) const {
        struct alignas(2 * sizeof(VERTEX)) Pair { VERTEX first, second; };
        Pair pair = reinterpret_cast<const Pair*>(s.heads)[vertex];
        first = pair.first;
        second = pair.second;
    }

    // The predecessor that a vertex has among its first two neighbours, else NO_VERTEX.
    __device__ __forceinline__ VERTEX in_head(VERTEX first, VERTEX second) const {
        if (first != NO_VERTEX && visited(first)) return first;
        if (second != NO_VERTEX && visited(second)) return second;
        return NO_VERTEX;
    }

    __device__ __forceinline__ void hit(VERTEX vertex, VERTEX predecessor) {
        set_bit(s.other, vertex);
        record(s, vertex, depth, predecessor);
        ++found;
    }

    __device__ __forceinline__ void wait_slow(bool mine, VERTEX vertex) {
        u32 lanes = __ballot_sync(ALL_LANES, mine);
        if (mine) slow[slow_held + __popc(lanes & lanes_below())] = vertex;
        slow_held += __popc(lanes);
    }

    // The first visited neighbour of one vertex, by the whole warp; all lanes call it with the same.
    __device__ __forceinline__ VERTEX scan_long(VERTEX vertex) {
        VERTEX nearest = NO_VERTEX;
        u64 units = row_units(s.rows, vertex);
        for (u64 unit = 0; unit < units && nearest == NO_VERTEX; ++unit) {
            visit_unit(s.rows, vertex, unit, [&](VERTEX neighbour, bool valid) {
                u32 hits = __ballot_sync(ALL_LANES, valid && visited(neighbour));
                if (hits) nearest = __shfl_sync(ALL_LANES, neighbour, __ffs(hits) - 1);
                return !hits;
            });
        }
        return nearest;
    }

    // Read the rows of all waiting vertices, a lane each; a lane that is done takes the next one.
    __device__ __forceinline__ void scan_rows() {
        __syncwarp();
        bool busy = false;
        VERTEX vertex = VERTEX(0);
        Cursor cursor{};
        u32 tried = 0;
        while (true) {
            u32 idle = __ballot_sync(ALL_LANES, !busy);
            u32 taken = __popc(idle) < slow_held ? __popc(idle) : slow_held;
            if (!taken && idle == ALL_LANES) break;
            u32 place = __popc(idle & lanes_below());
            if (!busy && place < taken) {
                vertex = slow[slow_held - 1 - place];
                cursor = open_row(s.rows, vertex);
                tried = 0;
                busy = true;
            }
            slow_held -= taken;
            VERTEX predecessor = NO_VERTEX;
            bool more = busy;
            if (busy) {
                VERTEX neighbour[AT_ONCE];
                bool live[AT_ONCE];
#pragma unroll
                for (u32 k = 0; k < AT_ONCE; ++k) {
                    neighbour[k] = NO_VERTEX;
                    live[k] = more = more && next_neighbour(s.rows, cursor, neighbour[k]);
                }
#pragma unroll
                for (u32 k = 0; k < AT_ONCE; ++k)
                    if (predecessor == NO_VERTEX && live[k] && visited(neighbour[k])) predecessor = neighbour[k];
                tried += AT_ONCE;
            }
            __syncwarp();
            u32 left = __ballot_sync(ALL_LANES, more && predecessor == NO_VERTEX && tried >= LONG_SCAN);
            while (left) {
                u32 from = __ffs(left) - 1;
                left &= left - 1;
                VERTEX nearest = scan_long(__shfl_sync(ALL_LANES, vertex, from));
                if (lane_id() == from) {
                    predecessor = nearest;
                    more = false;
                }
            }
            if (predecessor != NO_VERTEX) hit(vertex, predecessor);
            busy = more && predecessor == NO_VERTEX;
        }
        __syncwarp();
    }

    // Look at up to 64 waiting vertices, two per lane.
    __device__ __forceinline__ void look() {
        u32 count = open_held < 2 * WARP ? open_held : 2 * WARP;
        open_held -= count;
        __syncwarp();
        bool active[2];
        VERTEX vertex[2], first[2], second[2];
#pragma unroll
        for (u32 k = 0; k < 2; ++k) {
            active[k] = k * WARP + lane_id() < count;
            vertex[k] = active[k] ? open[open_held + k * WARP + lane_id()] : VERTEX(0);
            first[k] = second[k] = NO_VERTEX;
            if (active[k]) head(vertex[k], first[k], second[k]);
        }
#pragma unroll
        for (u32 k = 0; k < 2; ++k) {
            VERTEX predecessor = in_head(first[k], second[k]);
            if (predecessor != NO_VERTEX) hit(vertex[k], predecessor);
            wait_slow(predecessor == NO_VERTEX && second[k] != NO_VERTEX, vertex[k]);
        }
        if (slow_held >= WARP) scan_rows();
    }

    // Words with many unvisited vertices: lane i looks at bit i of four words at a time.
    __device__ __forceinline__ void dense(u64 word, u32 bits) {
#pragma unroll
        for (u32 half = 0; half < WIDEST_GROUP; half += 4) {
            if (half >= width) break;
            bool active[4];
            VERTEX first[4], second[4];
#pragma unroll
            for (u32 k = 0; k < 4; ++k) {
                active[k] = !(__shfl_sync(ALL_LANES, bits, half + k) >> lane_id() & 1);
                first[k] = second[k] = NO_VERTEX;
                if (active[k]) head(VERTEX((word + half + k) * 32 + lane_id()), first[k], second[k]);
            }
            u32 fresh = 0;
#pragma unroll
            for (u32 k = 0; k < 4; ++k) {
                VERTEX vertex = VERTEX((word + half + k) * 32 + lane_id());
                VERTEX predecessor = in_head(first[k], second[k]);
                bool here = predecessor != NO_VERTEX;
                u32 hits = __ballot_sync(ALL_LANES, here);
                if (lane_id() == half + k) fresh = hits;
                if (here) record(s, vertex, depth, predecessor);
                wait_slow(!here && second[k] != NO_VERTEX, vertex);
            }
            // Stored before any row is read: a hit found there is added to the stored word.
            if (lane_id() - half < 4 && lane_id() < width) {
                s.other[word + lane_id()] = bits | fresh;
                found += __popc(fresh);
            }
            __syncwarp();
            if (slow_held >= WARP) scan_rows();
        }
    }

    __device__ __forceinline__ void sparse(u64 word, u32 bits) {
        if (lane_id() < width) s.other[word + lane_id()] = bits;
        __syncwarp();
        u32 some = __ballot_sync(ALL_LANES, bits != ~0u);
        while (some) {
            u32 from = __ffs(some) - 1;
            some &= some - 1;
            u32 unvisited = ~__shfl_sync(ALL_LANES, bits, from);
            if (unvisited >> lane_id() & 1)
                open[open_held + __popc(unvisited & lanes_below())] = VERTEX((word + from) * 32 + lane_id());
            open_held += __popc(unvisited);
            if (open_held >= 2 * WARP) look();
        }
    }
};

// One bottom-up level. `room` bytes of shared memory hold the warps' lists and the cached words.
__device__ __forceinline__ void pull(const Search& s, Progress& p, u64* arena, u64 room, double words_per_open,
                                     u64 candidates) {
    u32 warps = blockDim.x / WARP;
    VERTEX* lists = reinterpret_cast<VERTEX*>(arena);
    u32* cache = reinterpret_cast<u32*>(lists + u64(warps) * (OPEN + SLOW));
    u64 unvisited = candidates > p.visited ? candidates - p.visited : 0;
    u64 fits = room / sizeof(u32) - u64(warps) * (OPEN + SLOW) * (sizeof(VERTEX) / sizeof(u32));
    u64 worth = u64(double(unvisited) * words_per_open);
    u64 cached = s.words < fits ? s.words : fits;
    cached = (cached < worth ? cached : worth) & ~3ull;
    for (u64 i = threadIdx.x; i < cached / 4; i += blockDim.x)
        reinterpret_cast<uint4*>(cache)[i] = reinterpret_cast<const uint4*>(s.exact)[i];
    __syncthreads();

    u64 all_warps = global_threads() / WARP;
    u32 width = WIDEST_GROUP;
    while (width > 1 && s.words < 2 * all_warps * width) width /= 2;
    Pull look{s, cache, cached, lists + warp_id() * (OPEN + SLOW), lists + warp_id() * (OPEN + SLOW) + OPEN,
              p.level + 1, width};
    u64 stride = all_warps * width;
    u64 word = (u64(warp_id()) * gridDim.x + blockIdx.x) * width;
    bool own = lane_id() < width;
    u32 ahead = own && word < s.words ? s.exact[word + lane_id()] : ~0u;
    for (; word < s.words; word += stride) {
        u32 bits = ahead;
        ahead = own && word + stride < s.words ? s.exact[word + stride + lane_id()] : ~0u;
        u32 unseen = __popc(~bits);
        for (u32 step = WIDEST_GROUP / 2; step; step /= 2) unseen += __shfl_xor_sync(ALL_LANES, unseen, step);
        unseen = __shfl_sync(ALL_LANES, unseen, 0);
        if (unseen >= DENSE * width)
            look.dense(word, bits);
        else
            look.sparse(word, bits);
    }
    while (look.open_held) look.look();
    if (look.slow_held) look.scan_rows();
    add_totals(s, p, look.found, 0);
}
