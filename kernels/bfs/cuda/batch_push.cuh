// Top-down levels of a batch: the bits of the frontier are offered along its arcs, then committed.

#include "kernels/bfs/cuda/batch_claim.cuh"

// Make what was offered to the found vertices seen, and make them the frontier.
__device__ __forceinline__ void commit(const Batch& b, u64 count, i32 depth) {
    Counts counts;
    for (u64 first = global_thread() - lane_id(); first < count; first += global_threads()) {
        bool mine = first + lane_id() < count;
        VERTEX vertex = mine ? b.found[first + lane_id()] : VERTEX(0);
        u64 bits = 0;
        if (mine) {
            bits = b.other[vertex];
            b.other[vertex] = 0;
            b.seen[vertex] |= bits;
            if (b.hops)
                each_bit(bits, [&](u64 search) { b.distance[search * b.vertices + vertex] = depth; });
        }
        put_entries(b, counts, vertex, bits);
    }
    counts.add_to(b.control);
}

// Make the vertices of a bottom-up level the frontier; `other` holds what was seen before it.
__device__ __forceinline__ void enqueue(const Batch& b) {
    Counts counts;
    for (u64 first = global_thread() - lane_id(); first < b.vertices; first += global_threads()) {
        u64 v = first + lane_id();
        u64 bits = 0;
        if (v < b.vertices) {
            bits = b.seen[v] & ~b.other[v];
            b.other[v] = 0;
        }
        put_entries(b, counts, VERTEX(v), bits);
    }
    counts.add_to(b.control);
}

// Offer the bits of the frontier along its arcs.
__device__ __forceinline__ void expand(const Batch& b, u64 entries, VERTEX* staged) {
    Stage stage{b, staged + warp_id() * STAGE};
    u64 warps = global_threads() / WARP;
    u64 share = (entries + warps - 1) / warps;
    share = share < WARP ? share : WARP;
    for (u64 first = (u64(warp_id()) * gridDim.x + blockIdx.x) * share; first < entries; first += warps * share) {
        u64 i = first + lane_id();
        bool valid = lane_id() < share && i < entries;
        u64 entry = valid ? b.queue[i] : 0, bits = valid ? b.offers[i] : 0;
        VERTEX owner = valid ? owner_of(b, i, entry) : VERTEX(0);
        expand_entries(b, stage, valid, entry, bits, owner);
    }
    stage.flush();
}
