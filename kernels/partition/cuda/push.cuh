// Forward visits. Rows of normal vertices are mapped to lanes, warps or blocks by their lengths (the paper's section
// IV-A, after Merrill's hybrid gather); those of delegates are cut evenly over the warps wherever they end
// (merge-based, which the paper does for dd alone: dn rows too are few and of all lengths).

#include "kernels/partition/cuda/by_length.cuh"
#include "kernels/partition/cuda/reach.cuh"

constexpr u32 ALL_AT_ONCE = 4;  // arcs of a lane, where all are gone through

#if !ENCODED  // those of encoded rows are in encoded.cuh

// Where the blocks of a visit begin: small visits run beside each other, in blocks of their own.
__device__ __forceinline__ u32 start_of(Reading visit) { return gridDim.x * (visit + 1) / 4; }

#if !CULLED  // that of culled.cuh is by whole blocks

__device__ __forceinline__ void reach_nn(const World& w, const Rank& r, const Arcs<BATCH>& a) {
    VERTEX vertex[BATCH];
#pragma unroll
    for (u32 k = 0; k < BATCH; ++k) vertex[k] = a.live[k] ? r.nn_columns[a.arc[k]] : VERTEX(0);
    reach_normals<false>(w, r, a.live, vertex, a.owner);
}

__device__ __forceinline__ void visit_nn(const World& w, const Rank& r, BlockRow& shared, u64 count) {
    visit_by_length<BATCH>(
        shared, count, start_of(READ_NN), [&](u64 i) { return queued_row(r.nn_queue, r.nn_offsets, i); },
        [&](const Arcs<BATCH>& a) { reach_nn(w, r, a); });
}

// Of a large frontier nothing is listed: all nn arcs are gone through side by side, each with its row. They are few, and
// rows of one or two arcs, read one by one, are chains of loads.
__device__ __forceinline__ void visit_all_nn(const World& w, const Rank& r) {
    u64 arcs = r.nn_offsets[r.local];
    for (u64 base = u64(blockIdx.x) * blockDim.x; base < arcs; base += ALL_AT_ONCE * global_threads()) {
        bool live[ALL_AT_ONCE];
        u32 owner[ALL_AT_ONCE], front[ALL_AT_ONCE];
        VERTEX vertex[ALL_AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < ALL_AT_ONCE; ++k) {
            u64 arc = base + k * global_threads() + threadIdx.x;
            live[k] = arc < arcs;
            owner[k] = live[k] ? read_once(r.nn_owners, arc) : 0;
            vertex[k] = live[k] ? read_once(r.nn_columns, arc) : VERTEX(0);
        }
#pragma unroll
        for (u32 k = 0; k < ALL_AT_ONCE; ++k) front[k] = live[k] ? r.front[owner[k] / 32] : 0;
#pragma unroll
        for (u32 k = 0; k < ALL_AT_ONCE; ++k) live[k] = front[k] >> (owner[k] & 31) & 1;
        reach_normals<true>(w, r, live, vertex, owner);
    }
}

#endif

// Reach what arcs lead to, of which `columns` are 32 bits: delegates, or normal vertices here.
template <bool REACHED_HAS_SEEN, class Found>
__device__ __forceinline__ void reach_columns(const Arcs<BATCH>& a, Columns<u32> columns, const u32* seen, u32* newly, Key* keys,
                                              const Found& key) {
    u32 place[BATCH];
#pragma unroll
    for (u32 k = 0; k < BATCH; ++k) place[k] = a.live[k] ? read_once(columns, a.arc[k]) : 0;
    claim<REACHED_HAS_SEEN>(seen, newly, keys, a.live, place, key);
}

__device__ __forceinline__ void visit_nd(const World& w, const Rank& r, BlockRow& shared, u64 count, u32* found) {
    visit_by_length<BATCH>(
        shared, count, start_of(READ_ND), [&](u64 i) { return queued_row(r.nd_queue, r.nd_offsets, i); },
        [&](const Arcs<BATCH>& a) {
            reach_columns<false>(a, r.nd_columns, r.delegates_seen, found, r.delegate_keys,
                                 [&](u32 k) { return vertex_of(r, a.owner[k], w.rank_count); });
        });
}

// Rows of delegates that are queued, cut evenly over the warps wherever they end. A warp's share of the arcs is one
// run, so that it looks for the row it begins in but once; `place` is the warp's among all.
template <class Reach>
__device__ __forceinline__ void visit_merged(const u32* queue, const u64* starts, const OFFSET* offsets, u64 tail, u64 place,
                                             const Reach& reach) {
    u64 rows = tail >> MERGE_BITS, arcs = tail & MERGE_ARCS, warps = global_threads() / WARP;
    // A quotient of 64 bits takes a hundred instructions, and most visits have few arcs.
    u64 all = arcs + warps - 1, even = all >> 32 ? all / warps : u32(all) / u32(warps);
    u64 share = (even + WARP - 1) / WARP * WARP, first = place * share;
    if (first >= arcs) return;
    u64 last = first + share < arcs ? first + share : arcs, low = row_of_arc(starts, rows, first);
    u64 begin = starts[low], end = low + 1 < rows ? starts[low + 1] : arcs;
    u32 d = queue[low];
    u64 row = offsets[d];
    for (u64 at = first; at < last; at += BATCH * WARP) {
        Arcs<BATCH> a;
#pragma unroll
        for (u32 k = 0; k < BATCH; ++k) {
            u64 from = at + k * WARP, arc = from + lane_id();
            a.live[k] = arc < last;
            u32 own = d;
            u64 own_row = row, own_begin = begin;
            if (end < from + WARP && from < last) {
                // No queued row is empty, so in a warp's arcs no more rows begin than it has lanes.
                u64 next = low + 1 + lane_id() < rows ? starts[low + 1 + lane_id()] : arcs;
                u32 heads = __reduce_or_sync(ALL_LANES, next < from + WARP ? 1u << (next - from) : 0);
                u32 before = __popc(heads & (lanes_below() | 1u << lane_id())), all = __popc(heads);
                u64 behind = __shfl_sync(ALL_LANES, next, before - 1 & WARP - 1);
                if (before && a.live[k]) {
                    own = queue[low + before];
                    own_begin = behind;
                    own_row = offsets[own];
                }
                low += all;
                end = __shfl_sync(ALL_LANES, next, all & WARP - 1);
                if (all == WARP) end = low + 1 < rows ? starts[low + 1] : arcs;
                d = __shfl_sync(ALL_LANES, own, WARP - 1);
                row = __shfl_sync(ALL_LANES, own_row, WARP - 1);
                begin = __shfl_sync(ALL_LANES, own_begin, WARP - 1);
            }
            a.arc[k] = OFFSET(own_row + (arc - own_begin));
            a.owner[k] = own;
        }
        reach(a);
    }
}

__device__ __forceinline__ void visit_dd(const World& w, const Rank& r, u64 tail, u32* found) {
    visit_merged(r.dd_queue, r.dd_starts, r.dd_offsets, tail, global_thread() / WARP, [&](const Arcs<BATCH>& a) {
        reach_columns<false>(a, r.dd_columns, r.delegates_seen, found, r.delegate_keys,
                             [&](u32 k) { return u64(w.delegates[a.owner[k]]); });
    });
}

// From the last warp on, so that few arcs of both go on beside each other.
__device__ __forceinline__ void visit_dn(const World& w, const Rank& r, u64 tail) {
    u64 place = (global_threads() - 1 - global_thread()) / WARP;
    visit_merged(r.dn_queue, r.dn_starts, r.dn_offsets, tail, place, [&](const Arcs<BATCH>& a) {
        reach_columns<true>(a, r.dn_columns, r.seen, r.reached, r.keys, [&](u32 k) { return u64(w.delegates[a.owner[k]]); });
    });
}

#endif
