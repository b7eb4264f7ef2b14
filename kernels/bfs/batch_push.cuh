// Top-down levels of a batch: the bits of the frontier are offered along its arcs.

#include "kernels/bfs/batch.cuh"

constexpr u32 MOST_BLOCK = 512;
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

// Offer the bits of the frontier along its arcs.
__device__ __forceinline__ void expand(const Batch& b, u64 entries, VERTEX* staged) {
    Stage stage{b, staged + warp_id() * STAGE};
    u64 warps = global_threads() / WARP;
    u64 share = (entries + warps - 1) / warps;
    share = share < WARP ? share : WARP;
    for (u64 first = (u64(warp_id()) * gridDim.x + blockIdx.x) * share; first < entries; first += warps * share) {
        u64 i = first + lane_id();
        bool valid = lane_id() < share && i < entries;
        u64 row = valid ? b.rows[i] : 0, bits = valid ? b.offers[i] : 0;
        VERTEX owner = valid ? b.owners[i] : VERTEX(0);
        u32 length = valid ? u32(row & ((1u << LENGTH_BITS) - 1)) + 1 : 0;
        i64 begin = i64(row >> LENGTH_BITS);

        u32 whole = __ballot_sync(ALL_LANES, length >= WARP);
        while (whole) {
            u32 from = take_lowest(whole);
            i64 start = __shfl_sync(ALL_LANES, begin, from);
            u32 arcs = __shfl_sync(ALL_LANES, length, from);
            u64 its = __shfl_sync(ALL_LANES, bits, from);
            VERTEX tail = __shfl_sync(ALL_LANES, owner, from);
            for (u32 k = lane_id(); k - lane_id() < arcs; k += WARP) {
                VERTEX head = k < arcs ? b.columns[start + k] : VERTEX(0);
                stage.put(k < arcs && offer(b, head, its, tail), head);
            }
        }

        u32 few = length < WARP ? length : 0;
        u32 upto = warp_inclusive_sum(few);
        u32 total = __shfl_sync(ALL_LANES, upto, WARP - 1);
        for (u32 base = 0; base < total; base += WARP) {
            u32 arc = base + lane_id(), from = 0;
#pragma unroll
            for (u32 step = WARP / 2; step; step /= 2)
                if (arc >= __shfl_sync(ALL_LANES, upto, from + step - 1)) from += step;
            u32 within = arc - __shfl_sync(ALL_LANES, upto - few, from);
            i64 start = __shfl_sync(ALL_LANES, begin, from);
            u64 its = __shfl_sync(ALL_LANES, bits, from);
            VERTEX tail = __shfl_sync(ALL_LANES, owner, from);
            VERTEX head = arc < total ? b.columns[start + within] : VERTEX(0);
            stage.put(arc < total && offer(b, head, its, tail), head);
        }
    }
    stage.flush();
}
