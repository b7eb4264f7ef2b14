// Forward visits. nn, nd and dn rows are mapped to lanes, warps or blocks by their lengths (the paper's section
// IV-A, after Merrill's hybrid gather); dd arcs are cut evenly over the warps wherever rows end (merge-based).

#include "kernels/partition/by_length.cuh"
#include "kernels/partition/reach.cuh"

#if !ENCODED  // those of encoded rows are in encoded.cuh

__device__ __forceinline__ void visit_nn(const World& w, const Rank& r, BlockRow& shared, u64 count) {
    visit_by_length(
        shared, count,
        [&](u64 i, u64& begin, u32& length, u64& owner) {
            owner = r.queue[i];
            begin = r.nn_offsets[owner];
            length = u32(r.nn_offsets[owner + 1] - begin);
        },
        [&](bool live, u64 arc, u64 owner) {
            reach_normal(w, r, live, live ? r.nn_columns[arc] : VERTEX(0), owner);
        });
}

__device__ __forceinline__ void visit_nd(const World& w, const Rank& r, BlockRow& shared, u64 count, u32* found) {
    visit_by_length(
        shared, count,
        [&](u64 i, u64& begin, u32& length, u64& owner) {
            owner = r.queue[i];
            begin = r.nd_offsets[owner];
            length = u32(r.nd_offsets[owner + 1] - begin);
        },
        [&](bool live, u64 arc, u64 owner) {
            if (live) claim_delegate(r, found, r.nd_columns[arc], owner * w.rank_count + r.rank);
        });
}

__device__ __forceinline__ void visit_dn(const World& w, const Rank& r, BlockRow& shared, u64 entries) {
    visit_by_length(
        shared, entries,
        [&](u64 i, u64& begin, u32& length, u64& owner) {
            u64 entry = r.dn_queue[i];
            owner = entry >> 32;
            begin = r.dn_offsets[owner] + (entry & 0xffffffffu) * ROW_CHUNK;
            u64 left = r.dn_offsets[owner + 1] - begin;
            length = left < ROW_CHUNK ? u32(left) : ROW_CHUNK;
        },
        [&](bool live, u64 arc, u64 owner) {
            if (live) claim_normal(r, r.dn_columns[arc], w.delegates[owner]);
        });
}

__device__ __forceinline__ void visit_dd(const World& w, const Rank& r, u64 tail, u32* found) {
    u64 rows = tail >> MERGE_BITS, arcs = tail & MERGE_ARCS;
    for (u64 first = global_thread() / WARP * TILE; first < arcs; first += global_threads() / WARP * TILE) {
        u64 last = first + TILE < arcs ? first + TILE : arcs;
        u64 low = row_of_tile(r, rows, first);
        u64 begin = r.dd_starts[low], end = low + 1 < rows ? r.dd_starts[low + 1] : arcs;
        u32 d = r.dd_queue[low];
        u64 row = r.dd_offsets[d];
        for (u64 arc = first + lane_id(); arc < last; arc += WARP) {
            if (arc >= end) {
                while (arc >= end) {
                    ++low;
                    begin = end;
                    end = low + 1 < rows ? r.dd_starts[low + 1] : arcs;
                }
                d = r.dd_queue[low];
                row = r.dd_offsets[d];
            }
            claim_delegate(r, found, r.dd_columns[row + (arc - begin)], w.delegates[d]);
        }
    }
}

#endif
