// The first phase: every block hooks the vertices of one tile after another, ranges of TILE vertices in a row.
//
// Neighbours in the same tile are joined in shared memory. A tree of a tile then takes one neighbour below the
// tile as its parent, which is smaller than all of the tile, so that no other block needs to be asked. What is
// left are trees of a tile instead of chains of vertices, on grids one or two per tile.
//
// Where the neighbours come from is a template argument, with open(base, near, linked), called by whole warps: it
// fills in what is near each of a thread's vertices, v = base + j * BLOCK + threadIdx.x, nothing from `vertices` on,
// and marks who has arcs. All loads of one kind are issued before the first is used, which the time rests on.

#include "kernels/components/cuda/forest.cuh"

constexpr u32 TILE = 2048;
constexpr u32 EACH = TILE / BLOCK;
constexpr u32 ROUNDS = 4;      // neighbours of a vertex that are looked at, at most
constexpr u32 FEW = TILE / 8;  // trees of a tile, up to which its roots are listed and flattened on their own

struct Near {
    VERTEX neighbour[ROUNDS];  // ascending; v where there are none
    VERTEX second;             // where even the first neighbour is larger: its own first neighbour; else v
};

struct Tile {
    u32 parent[TILE];       // places within the tile
    VERTEX outside[TILE];   // of a root: a neighbour of its tree below the tile
    u64 start;
    u32 roots;
};

__device__ __forceinline__ u32 place_root(volatile u32* parent, u32 at) {
    while (true) {
        u32 above = parent[at], next = parent[above];
        if (next == above) return above;
        parent[at] = next;
        at = next;
    }
}

__device__ __forceinline__ void join_places(u32* parent, u32 a, u32 b) {
    a = place_root(parent, a);
    b = place_root(parent, b);
    while (a != b) {
        u32 high = a > b ? a : b, low = a > b ? b : a;
        u32 held = atomicCAS(&parent[high], high, low);
        if (held == high) return;
        a = place_root(parent, held);
        b = place_root(parent, low);
    }
}

// Hook every vertex, mark in `linked` which have arcs, and list the roots of tiles that have few.
template <class Neighbours>
__device__ __forceinline__ void hook_tiles(Tile& tile, const Neighbours& rows, u64 vertices,
                                           VERTEX* component, u32* linked, VERTEX* roots, u64* root_count) {
    const u32 lane = lane_id();
    for (u64 base = u64(blockIdx.x) * TILE; base < vertices; base += u64(gridDim.x) * TILE) {
        Near near[EACH];
        if (threadIdx.x == 0) tile.roots = 0;
        rows.open(base, near, linked);
        // Runs of vertices that follow each other in number and in the graph need no atomics within a warp.
#pragma unroll
        for (u32 j = 0; j < EACH; ++j) {
            u32 place = j * BLOCK + threadIdx.x;
            VERTEX before = VERTEX(base + place - 1);
            bool follows = false;
#pragma unroll
            for (u32 k = 0; k < ROUNDS; ++k) follows = follows || near[j].neighbour[k] == before;
            u32 starts = ~__ballot_sync(ALL_LANES, follows) | 1;
            u32 run = WARP - 1 - __clz(starts & (lanes_below() | 1u << lane));
            tile.parent[place] = place - lane + run;
            tile.outside[place] = NO_VERTEX;
        }
        __syncthreads();
#pragma unroll
        for (u32 j = 0; j < EACH; ++j) {
            u32 place = j * BLOCK + threadIdx.x;
            VERTEX v = VERTEX(base + place);
#pragma unroll
            for (u32 k = 0; k < ROUNDS; ++k) {
                VERTEX u = near[j].neighbour[k];
                if (u >= base && u < v && !(u + 1 == v && lane)) join_places(tile.parent, place, u32(u - base));
            }
        }
        __syncthreads();
        u32 root[EACH];
#pragma unroll
        for (u32 j = 0; j < EACH; ++j) {
            root[j] = place_root(tile.parent, j * BLOCK + threadIdx.x);
            // Whichever neighbour is stored last serves.
            volatile VERTEX* outside = &tile.outside[root[j]];
            VERTEX first = near[j].neighbour[0];
            if (first < base && *outside == NO_VERTEX) *outside = first;
        }
        __syncthreads();
        u32 hooked = 0, mine = 0;
#pragma unroll
        for (u32 j = 0; j < EACH; ++j) {
            u32 place = j * BLOCK + threadIdx.x;
            VERTEX v = VERTEX(base + place), parent = VERTEX(base + root[j]);
            bool top = root[j] == place && v < vertices;
            if (top) {
                parent = tile.outside[place];
                if (parent == NO_VERTEX) parent = near[j].second < v ? near[j].second : v;
            }
            if (v < vertices) component[v] = parent;
            top = top && parent != v;
            hooked |= u32(top) << j;
            mine += __popc(__ballot_sync(ALL_LANES, top));
        }
        u32 at = 0;
        if (lane == 0 && mine) at = atomicAdd(&tile.roots, mine);
        at = __shfl_sync(ALL_LANES, at, 0);
        __syncthreads();
        u32 total = tile.roots;
        if (total && total <= FEW) {
            if (threadIdx.x == 0) tile.start = atomicAdd(root_count, u64(total));
            __syncthreads();
#pragma unroll
            for (u32 j = 0; j < EACH; ++j) {
                u32 tops = __ballot_sync(ALL_LANES, hooked >> j & 1);
                if (hooked >> j & 1)
                    roots[tile.start + at + __popc(tops & lanes_below())] = VERTEX(base + j * BLOCK + threadIdx.x);
                at += __popc(tops);
            }
        }
        __syncthreads();
    }
}
