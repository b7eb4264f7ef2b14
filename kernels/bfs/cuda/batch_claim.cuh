// How the searches of a batch claim vertices: top-down by offers, bottom-up from neighbours that more have seen.

#include "kernels/bfs/cuda/batch.cuh"

__device__ __forceinline__ void write_tree(const Batch& b, u64 vertex, u64 bits, VERTEX predecessor) {
    if (TREE)
        each_bit(bits, [&](u64 search) { b.predecessor[search * b.vertices + vertex] = Tree(predecessor); });
}

// Let the searches among `wanted` that have not gained this vertex yet have it from a neighbour with the bits `its`.
__device__ __forceinline__ void gain(const Batch& b, u64 vertex, u64 its, u64 wanted, u64& gained, VERTEX neighbour) {
    u64 fresh = its & wanted & ~gained;
    gained |= fresh;
    write_tree(b, vertex, fresh, neighbour);
}

// Take what neighbours have, one a lane with the bits `its`, of the bits that are `open`; all lanes call it.
// `tell(bits, neighbour)` is called for the first neighbour that has a bit.
template <class Tell>
__device__ __forceinline__ void claim_open(u64 its, VERTEX neighbour, u64& open, u64& taken, const Tell& tell) {
    u64 mine = its & open, all = warp_or(mine);
    if (TREE && all) tell(mine & ~or_below(mine), neighbour);
    taken |= all;
    open &= ~all;
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
    u32 held = 0;

    __device__ __forceinline__ void put(bool mine, VERTEX vertex) {
        u32 lanes = __ballot_sync(ALL_LANES, mine);
        if (!lanes) return;
        if (held + __popc(lanes) > STAGE) flush();
        if (mine) staged[held + __popc(lanes & lanes_below())] = vertex;
        held += __popc(lanes);
    }

    __device__ __forceinline__ void flush() {
        if (!held) return;
        u64 base = reserve(&b.control[FOUND], held);
        __syncwarp();
        for (u32 i = lane_id(); i < held; i += WARP) b.found[base + i] = staged[i];
        __syncwarp();
        held = 0;
    }
};
