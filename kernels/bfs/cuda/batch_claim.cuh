// How the searches of a batch claim vertices: top-down by offers, bottom-up from neighbours that more have seen.

#include "kernels/bfs/cuda/batch.cuh"

__device__ __forceinline__ void write_tree(const Batch& b, u64 vertex, u64 bits, VERTEX predecessor) {
    if (TREE)
        each_bit(bits, [&](u64 search) { b.predecessor[search * b.vertices + vertex] = Tree(predecessor); });
}

// Let the searches among `wanted` that have not gained this vertex yet have it from a neighbour with the bits `its`.
__device__ __forceinline__ void gain(const Batch& b, u64 vertex, u64 its, u64 wanted, u64& gained, VERTEX neighbour) {
    u64 newly_visited = its & wanted & ~gained;
    gained |= newly_visited;
    write_tree(b, vertex, newly_visited, neighbour);
}

// Take what neighbours have, one a lane with the bits `its`, of the bits that are `unvisited`; all lanes call it.
// `tell(bits, neighbour)` is called for the first neighbour that has a bit.
template <class Tell>
__device__ __forceinline__ void claim_unvisited(u64 its, VERTEX neighbour, u64& unvisited, u64& claimed, const Tell& tell) {
    u64 mine = its & unvisited, all = warp_or(mine);
    if (TREE && all) tell(mine & ~or_below(mine), neighbour);
    claimed |= all;
    unvisited &= ~all;
}

constexpr u32 STAGE = 64;   // vertices that a warp holds back before it reserves room

// Offer bits to a vertex; true for whoever is the first in this level to bring something new.
__device__ __forceinline__ bool offer(const Batch& b, VERTEX vertex, u64 bits, VERTEX owner) {
    bits &= ~b.seen[vertex];
    if (!bits) return false;
    if (TREE)
        each_bit(bits, [&](u64 search) {
            Tree* least = &b.predecessor[search * b.vertices + vertex];
            if (*least > Tree(owner)) atomicMin(least, Tree(owner));
        });
    // A stale word only lacks bits.
    if (!(bits & ~b.other[vertex])) return false;
    return atomicOr(&b.other[vertex], bits) == 0;
}

struct Stage {
    const Batch& b;
    VERTEX* staged;
    u32 staged_count = 0;

    __device__ __forceinline__ void put(bool mine, VERTEX vertex) {
        u32 lanes = __ballot_sync(ALL_LANES, mine);
        if (!lanes) return;
        if (staged_count + __popc(lanes) > STAGE) flush();
        if (mine) staged[staged_count + __popc(lanes & lanes_below())] = vertex;
        staged_count += __popc(lanes);
    }

    __device__ __forceinline__ void flush() {
        if (!staged_count) return;
        u64 base = reserve(&b.control[FOUND], staged_count);
        __syncwarp();
        for (u32 i = lane_id(); i < staged_count; i += WARP) b.found[base + i] = staged[i];
        __syncwarp();
        staged_count = 0;
    }
};
