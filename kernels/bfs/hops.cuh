// A block's own part of the frontier, which it takes many hops further without waiting for other blocks.
//
// Records. Slot v of `records` holds the WIDTH neighbours of v, NO_VERTEX where there are fewer. A vertex of
// higher degree has NO_VERTEX, its degree (at most LONGEST) and where its row begins. One aligned read fetches
// a record, and it is issued together with the claim of its vertex: a hop costs one trip to memory.
//
// Entries. One arc (vertex, parent) each, in shared memory; all entries of a block claim the same depth. The
// arc back to the parent is left out: it can improve nothing.
//
// Labels only fall, by atomics, and whoever lowers one enqueues the vertex's arcs again. So blocks need not
// be at the same hop: a vertex claimed too deep by a block that ran ahead is claimed again. If everything up to
// depth D is exact when all blocks begin, then after k hops of each everything up to D + k is: a vertex of depth
// D + i has a neighbour that some block made exact at its hop i - 1, and the same block claims it at hop i.
// An entry whose parent was improved later claims too deep a label, and so nothing.

#include "kernels/bfs/labels.cuh"
#include "kernels/cuda/grid_barrier.cuh"

constexpr VERTEX NO_VERTEX = VERTEX(~VERTEX(0));
constexpr u64 LONGEST = 1u << 30;

struct alignas(2 * sizeof(VERTEX)) Entry {
    VERTEX vertex, parent;
};

struct Graph {
    const i64* row_offsets;
    const VERTEX* columns;
    const VERTEX* records;
    i32* distance;
    u64* keys;
    u64* log;
    u64 vertices, logged;
    u32 max_depth, ahead, row_limit, capacity;
};

// Give `vertex` this depth; whether it was deeper before. A smaller predecessor at the same depth is kept too.
__device__ __forceinline__ bool claim(const Graph& g, VERTEX vertex, VERTEX parent, u32 depth) {
    if (TREE) return u32(atomicMin(&g.keys[vertex], make_key(depth, parent)) >> KEY_SHIFT) > depth;
    return atomicMin(reinterpret_cast<u32*>(&g.distance[vertex]), depth) > depth;
}

__device__ __forceinline__ void count_arcs(const Graph& g, u32 depth, u64 arcs) {
    arcs = warp_sum(arcs);
    if (arcs && lane_id() == 0) atomicAdd(&g.log[1 + (depth < g.logged ? depth : g.logged - 1)], arcs);
}

template <u32 WIDTH>
__device__ __forceinline__ void load_record(const Graph& g, VERTEX vertex, VERTEX (&slot)[WIDTH]) {
    const uint4* from = reinterpret_cast<const uint4*>(g.records + u64(vertex) * WIDTH);
#pragma unroll
    for (u32 i = 0; i < WIDTH * sizeof(VERTEX) / 16; ++i) {
        uint4 piece = __ldg(from + i);
        if constexpr (sizeof(VERTEX) == 4) {
            slot[4 * i] = piece.x;
            slot[4 * i + 1] = piece.y;
            slot[4 * i + 2] = piece.z;
            slot[4 * i + 3] = piece.w;
        } else {
            slot[2 * i] = u64(piece.y) << 32 | piece.x;
            slot[2 * i + 1] = u64(piece.w) << 32 | piece.z;
        }
    }
}

__device__ __forceinline__ void prefetch(const void* address) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

// Where this path leads if it goes straight on, as it does in numberings that follow the space.
template <u32 WIDTH>
__device__ __forceinline__ void look_ahead(const Graph& g, VERTEX vertex, VERTEX parent) {
    u64 there = u64(vertex) + g.ahead * (u64(vertex) - u64(parent));
    if (there < g.vertices) {
        prefetch(g.records + there * WIDTH);
        if (TREE)
            prefetch(g.keys + there);
        else
            prefetch(g.distance + there);
    }
}

// Room for `amount` entries of this warp; all lanes call it. Beyond `capacity` nothing may be written.
__device__ __forceinline__ u32 room(u32& tail, u32 amount) {
    u32 base = 0;
    if (lane_id() == 0) base = atomicAdd(&tail, amount);
    return __shfl_sync(ALL_LANES, base, 0);
}

// Enqueue the arcs of one row per lane; all lanes call it, those without a row with degree 0.
__device__ __forceinline__ void push_rows(const Graph& g, Entry* next, u32& tail, i64 begin, u64 degree, VERTEX vertex) {
    bool refused = degree > g.row_limit;
    if (refused) atomicAdd(&tail, g.capacity + 1);
    u32 mine = refused ? 0 : u32(degree), upto = warp_inclusive_sum(mine);
    u32 total = __shfl_sync(ALL_LANES, upto, WARP - 1);
    u32 base = room(tail, total);
    if (base + total > g.capacity) return;
    for (u32 first = 0; first < total; first += WARP) {
        u32 k = first + lane_id(), from = 0;
#pragma unroll
        for (u32 step = WARP / 2; step; step /= 2)
            if (k >= __shfl_sync(ALL_LANES, upto, from + step - 1)) from += step;
        u32 before = __shfl_sync(ALL_LANES, upto - mine, from);
        i64 row = __shfl_sync(ALL_LANES, begin, from);
        VERTEX owner = __shfl_sync(ALL_LANES, vertex, from);
        if (k < total) next[base + k] = Entry{g.columns[row + (k - before)], owner};
    }
}

// Claim `count` entries at this depth and enqueue the arcs of what was claimed.
template <u32 WIDTH>
__device__ __forceinline__ void hop(const Graph& g, const Entry* entries, u32 count, Entry* next, u32& tail, u32 depth) {
    for (u32 first = warp_id() * WARP; first < count; first += blockDim.x) {
        u32 i = first + lane_id();
        bool won = false;
        Entry entry{0, 0};
        VERTEX slot[WIDTH];
        if (i < count) {
            entry = entries[i];
            load_record(g, entry.vertex, slot);
            if (g.ahead) look_ahead<WIDTH>(g, entry.vertex, entry.parent);
            won = claim(g, entry.vertex, entry.parent, depth);
        }
        if (depth >= g.max_depth) continue;
        bool row = won && slot[0] == NO_VERTEX && slot[1] != NO_VERTEX;
        u32 wanted = 0;
#pragma unroll
        for (u32 k = 0; k < WIDTH; ++k)
            wanted |= u32(won && !row && slot[k] != NO_VERTEX && slot[k] != entry.parent) << k;
        // Counts go up to WIDTH, so their sums are made of one ballot for each of their bits.
        u32 number = __popc(wanted), before = 0, total = 0;
#pragma unroll
        for (u32 bit = 1; bit <= WIDTH; bit *= 2) {
            u32 lanes = __ballot_sync(ALL_LANES, number & bit);
            before += bit * __popc(lanes & lanes_below());
            total += bit * __popc(lanes);
        }
        if (total) {
            u32 place = room(tail, total) + before;
            if (place + number <= g.capacity) {
#pragma unroll
                for (u32 k = 0; k < WIDTH; ++k)
                    if (wanted >> k & 1) next[place++] = Entry{slot[k], entry.vertex};
            }
        }
        if (__any_sync(ALL_LANES, row))
            push_rows(g, next, tail, row ? i64(u64(slot[2]) | (sizeof(VERTEX) == 4 ? u64(slot[3]) << 32 : 0)) : 0,
                      row ? u64(slot[1]) : 0, entry.vertex);
        if (g.logged) {
            u32 degree = 0;
#pragma unroll
            for (u32 k = 0; k < WIDTH; ++k) degree += won && slot[k] != NO_VERTEX;
            count_arcs(g, depth, row ? u64(slot[1]) : degree);
        }
    }
}
