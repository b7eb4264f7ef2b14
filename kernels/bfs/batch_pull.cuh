// Bottom-up levels of a batch: vertices look for neighbours that more searches have seen.

#include "kernels/bfs/batch.cuh"

constexpr i64 ALONE = 128;  // arcs that a lane tries bottom-up before its warp helps,
constexpr i64 LONG = 256;   // and those left of a row from which the whole grid does,
constexpr u32 PIECE = 1024; // in entries of so many arcs

__device__ __forceinline__ void write_tree(const Batch& b, u64 vertex, u64 bits, VERTEX predecessor) {
    if (TREE)
        each_bit(bits, [&](u64 search) { b.predecessor[search * b.vertices + vertex] = Tree(predecessor); });
}

// The bits among `open` that a row's neighbours have; all lanes call it. `tell(bits, neighbour)` is called for
// the first neighbour that has a bit.
template <class Tell>
__device__ __forceinline__ u64 search_row(const Batch& b, i64 begin, i64 end, u64 open, const Tell& tell) {
    u64 taken = 0;
    for (i64 i = begin; i < end && open; i += 2 * WARP) {
        VERTEX neighbour[2];
        u64 its[2];
#pragma unroll
        for (u32 k = 0; k < 2; ++k) {
            i64 place = i + k * WARP + lane_id();
            neighbour[k] = b.columns[place < end ? place : end - 1];
        }
#pragma unroll
        for (u32 k = 0; k < 2; ++k) its[k] = b.seen[neighbour[k]];
#pragma unroll
        for (u32 k = 0; k < 2; ++k) {
            u64 mine = its[k] & open, all = warp_or(mine);
            if (TREE && all) tell(mine & ~or_below(mine), neighbour[k]);
            taken |= all;
            open &= ~all;
        }
    }
    return taken;
}

// Every vertex that some search has not seen looks for neighbours that it has. Rows are ascending, so the
// first neighbour with a bit is the smallest predecessor of that search.
__device__ __forceinline__ void pull(const Batch& b, i32 depth) {
    Counts counts;
    for (u64 first = global_thread() - lane_id(); first < b.vertices; first += global_threads()) {
        u64 v = first + lane_id();
        bool inside = v < b.vertices;
        u64 before = inside ? b.seen[v] : b.full;
        u64 wanted = b.live & ~before, gained = 0;
        i64 at = wanted ? b.row_offsets[v] : 0, end = wanted ? b.row_offsets[v + 1] : 0;
        i64 degree = end - at, stop = degree < ALONE ? end : at + ALONE;
        while (at < stop && wanted & ~gained) {
            VERTEX neighbour[4];
            u64 its[4];
#pragma unroll
            for (u32 k = 0; k < 4; ++k) neighbour[k] = b.columns[at + k < end ? at + k : end - 1];
#pragma unroll
            for (u32 k = 0; k < 4; ++k) its[k] = b.seen[neighbour[k]];
#pragma unroll
            for (u32 k = 0; k < 4; ++k) {
                u64 fresh = its[k] & wanted & ~gained;
                gained |= fresh;
                write_tree(b, v, fresh, neighbour[k]);
            }
            at += 4;
        }
        __syncwarp();
        u64 open = at < end ? wanted & ~gained : 0;
        bool later = open && end - at > LONG;
        if (__any_sync(ALL_LANES, later)) cut(b, VERTEX(v), open, later ? at : 0, later ? end : 0, PIECE);
        u32 left = __ballot_sync(ALL_LANES, open && !later);
        while (left) {
            u32 from = take_lowest(left);
            u64 taken = search_row(b, __shfl_sync(ALL_LANES, at, from), __shfl_sync(ALL_LANES, end, from),
                                   __shfl_sync(ALL_LANES, open, from),
                                   [&](u64 bits, VERTEX neighbour) { write_tree(b, first + from, bits, neighbour); });
            if (lane_id() == from) gained |= taken;
        }
        if (inside) b.other[v] = before | gained;
        write_level(b, v, gained, depth);
        counts.vertices += gained != 0;
        counts.arcs += gained ? u64(degree) : 0;
        counts.live |= gained;
    }
    counts.add_to(b.control);
}

// What bottom-up levels left of long rows. Any warp may find a bit first, and the smallest predecessor last.
__device__ __forceinline__ void pull_rest(const Batch& b, u64 entries, i32 depth) {
    Counts counts;
    u64 warps = global_threads() / WARP;
    for (u64 i = u64(warp_id()) * gridDim.x + blockIdx.x; i < entries; i += warps) {
        u64 row = b.rows[i], v = b.owners[i];
        i64 begin = i64(row >> LENGTH_BITS), end = begin + i64(row & ((1u << LENGTH_BITS) - 1)) + 1;
        u64 taken = search_row(b, begin, end, b.offers[i], [&](u64 bits, VERTEX neighbour) {
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
            counts.arcs += fresh ? u64(b.row_offsets[v + 1] - b.row_offsets[v]) : 0;
            counts.live |= taken;
        }
    }
    counts.add_to(b.control);
}
