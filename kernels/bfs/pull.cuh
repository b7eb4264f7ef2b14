// Bottom-up: every unvisited vertex looks for a visited neighbour and stops at the first.
//
// A warp owns up to 8 words (256 vertices) at a time and alone writes them. Neighbours are tried in ascending
// order, so the one that hits is the smallest predecessor. The first two lie in `heads`, read in step with
// the vertices; the few vertices that need more are collected and their rows read by whole warps of them.
// The start of the bitmap is kept in shared memory: it is probed at random, and where vertices are numbered
// by descending degree nearly all probes fall there.

#include "kernels/bfs/search.cuh"

constexpr u32 WIDEST_GROUP = 8;  // words that a warp takes at once, if there are enough for all warps
constexpr u32 DENSE = 8;         // unvisited vertices per word from which lanes are tied to bits
constexpr u32 OPEN = 96;         // room for vertices that wait to be looked at
constexpr u32 SLOW = 160;        // and for those whose heads did not hit
constexpr i64 ALONE = 256;       // arcs that a lane tries before its warp helps: 32 lanes, 8 arcs at a time

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

    // Read the rows of up to 32 waiting vertices, from the third neighbour on.
    __device__ __forceinline__ void scan_rows() {
        u32 count = slow_held < WARP ? slow_held : WARP;
        slow_held -= count;
        __syncwarp();
        bool active = lane_id() < count;
        VERTEX vertex = active ? slow[slow_held + lane_id()] : VERTEX(0);
        __syncwarp();
        i64 at = active ? __ldg(&s.row_offsets[vertex]) + 2 : 0;
        i64 end = active ? __ldg(&s.row_offsets[u64(vertex) + 1]) : 0;
        i64 stop = end - at < ALONE ? end : at + ALONE;
        VERTEX predecessor = NO_VERTEX;
        while (at < stop && predecessor == NO_VERTEX) {
            VERTEX neighbour[8];
#pragma unroll
            for (u32 k = 0; k < 8; ++k) neighbour[k] = __ldg(&s.columns[at + k < end ? at + k : end - 1]);
#pragma unroll
            for (u32 k = 0; k < 8; ++k)
                if (predecessor == NO_VERTEX && visited(neighbour[k])) predecessor = neighbour[k];
            at += 8;
        }
        __syncwarp();
        u32 left = __ballot_sync(ALL_LANES, predecessor == NO_VERTEX && at < end);
        while (left) {
            u32 from = __ffs(left) - 1;
            left &= left - 1;
            i64 last = __shfl_sync(ALL_LANES, end, from);
            VERTEX nearest = NO_VERTEX;
            for (i64 i = __shfl_sync(ALL_LANES, at, from); i < last && nearest == NO_VERTEX; i += 4 * WARP) {
                VERTEX neighbour[4];
                bool seen[4];
#pragma unroll
                for (u32 k = 0; k < 4; ++k) {
                    i64 place = i + k * WARP + lane_id();
                    neighbour[k] = place < last ? __ldg(&s.columns[place]) : NO_VERTEX;
                }
#pragma unroll
                for (u32 k = 0; k < 4; ++k) seen[k] = neighbour[k] != NO_VERTEX && visited(neighbour[k]);
#pragma unroll
                for (u32 k = 0; k < 4; ++k) {
                    u32 hits = __ballot_sync(ALL_LANES, seen[k]);
                    if (hits && nearest == NO_VERTEX) nearest = __shfl_sync(ALL_LANES, neighbour[k], __ffs(hits) - 1);
                }
            }
            if (lane_id() == from) predecessor = nearest;
        }
        if (predecessor != NO_VERTEX) hit(vertex, predecessor);
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
        while (slow_held >= WARP) scan_rows();
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
            while (slow_held >= WARP) scan_rows();
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
    while (look.slow_held) look.scan_rows();
    add_totals(s, p, look.found, 0);
}
