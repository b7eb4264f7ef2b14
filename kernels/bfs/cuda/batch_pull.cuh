// Bottom-up levels of a batch: vertices look for neighbours that more searches have seen.

#include "kernels/bfs/cuda/batch_claim.cuh"

// Every vertex that some search has not seen looks for neighbours that it has. Rows are ascending, so the
// first neighbour with a bit is the smallest predecessor of that search.
__device__ __forceinline__ void pull(const Batch& b, i32 depth) {
    Counts counts;
    for (u64 first = global_thread() - lane_id(); first < b.vertices; first += global_threads()) {
        u64 v = first + lane_id();
        bool inside = v < b.vertices;
        u64 before = inside ? b.seen[v] : b.full;
        u64 wanted = b.live & ~before, gained = 0;
        i64 at, end;
        u64 weight = scan_alone(b, v, wanted, gained, at, end);
        __syncwarp();
        u64 open = at < end ? wanted & ~gained : 0;
        bool later = open && end - at > LONG;
        if (__any_sync(ALL_LANES, later)) cut(b, VERTEX(v), open, later ? at : 0, later ? end : 0, PIECE);
        u32 left = __ballot_sync(ALL_LANES, open && !later);
        while (left) {
            u32 from = take_lowest(left);
            u64 taken = scan_row(b, first + from, __shfl_sync(ALL_LANES, at, from), __shfl_sync(ALL_LANES, end, from),
                                 __shfl_sync(ALL_LANES, open, from),
                                 [&](u64 bits, VERTEX neighbour) { write_tree(b, first + from, bits, neighbour); });
            if (lane_id() == from) gained |= taken;
        }
        if (inside) b.other[v] = before | gained;
        write_level(b, v, gained, depth);
        counts.vertices += gained != 0;
        counts.weight += gained ? weight : 0;
        counts.live |= gained;
    }
    counts.add_to(b.control);
}

// What bottom-up levels left of long rows. Any warp may find a bit first, and the smallest predecessor last.
__device__ __forceinline__ void pull_rest(const Batch& b, u64 entries, i32 depth) {
    Counts counts;
    u64 warps = global_threads() / WARP;
    for (u64 i = u64(warp_id()) * gridDim.x + blockIdx.x; i < entries; i += warps) {
        u64 entry = b.queue[i], v = owner_of(b, i, entry);
        u64 taken = scan_entry(b, entry, b.offers[i], [&](u64 bits, VERTEX neighbour) {
            each_bit(bits, [&](u64 search) {
                atomicMin(&b.predecessor[search * b.vertices + v], Tree(neighbour));
            });
        });
        if (!taken) continue;
        u64 known = 0;
        if (lane_id() == 0) known = atomicOr(&b.other[v], taken);
        known = __shfl_sync(ALL_LANES, known, 0);
        for (u32 search = lane_id(); b.hops && search < 64; search += WARP)
            if ((taken & ~known) >> search & 1) b.distance[search * b.vertices + v] = depth;
        if (lane_id() == 0) {
            bool fresh = known == b.seen[v];
            counts.vertices += fresh;
            counts.weight += fresh ? row_weight(b.rows, v) : 0;
            counts.live |= taken;
        }
    }
    counts.add_to(b.control);
}
