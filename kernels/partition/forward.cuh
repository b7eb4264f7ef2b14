// Forward visits. nn, nd and dn rows are mapped to lanes, warps or blocks by their lengths (the paper's section
// IV-A, after Merrill's hybrid gather); dd arcs are cut evenly over the warps wherever rows end (merge-based).

#include "kernels/partition/by_length.cuh"
#include "kernels/partition/rank.cuh"

constexpr u32 TILE = 512;  // arcs of dd that a warp takes at once

// nn: what is here is claimed, the rest is sorted into the bins of the ranks that own it (section V-B).
__device__ __forceinline__ void visit_nn(const World& w, const Rank& r, BlockRow& shared, u64 count) {
    u32 ranks = u32(w.rank_count), own = u32(r.rank);
    visit_by_length(
        shared, count,
        [&](u64 i, u64& begin, u32& length, u64& owner) {
            owner = r.queue[i];
            begin = r.nn_offsets[owner];
            length = u32(r.nn_offsets[owner + 1] - begin);
        },
        [&](bool live, u64 arc, u64 owner) {
            VERTEX vertex = live ? r.nn_columns[arc] : VERTEX(0);
            u32 to = u32(vertex % ranks), id = u32(vertex / ranks);
            if (live && to == own) claim_normal(r, id, NORMAL_CLASS | (owner * ranks + own));
            bool send = live && to != own;
            if (send && r.sent) {
                u32 bit = 1u << (id & 31);
                u32* word = r.sent + to * r.sent_words + (id >> 5);
                send = !(*reinterpret_cast<volatile u32*>(word) & bit) && !(atomicOr(word, bit) & bit);
            }
            u32 senders = __ballot_sync(ALL_LANES, send);
            if (!send) return;
            u32 same = __match_any_sync(senders, to), leader = __ffs(same) - 1;
            u64 place = 0;
            if (lane_id() == leader) place = atomicAdd(&r.bin_tail[to], u64(__popc(same)));
            place = __shfl_sync(same, place, leader) + __popc(same & lanes_below());
            r.bin_ids[place] = id;
            if (TREE) r.bin_tails[place] = u32(owner);
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
            begin = r.dn_offsets[owner] + (entry & 0xffffffffu) * CHUNK;
            u64 left = r.dn_offsets[owner + 1] - begin;
            length = left < CHUNK ? u32(left) : CHUNK;
        },
        [&](bool live, u64 arc, u64 owner) {
            if (live) claim_normal(r, r.dn_columns[arc], w.delegates[owner]);
        });
}

__device__ __forceinline__ void visit_dd(const World& w, const Rank& r, u64 tail, u32* found) {
    u64 rows = tail >> MERGE_BITS, arcs = tail & MERGE_ARCS;
    for (u64 first = global_thread() / WARP * TILE; first < arcs; first += global_threads() / WARP * TILE) {
        u64 last = first + TILE < arcs ? first + TILE : arcs;
        // The last row that begins at or before the tile.
        u64 low = 0, high = rows;
        while (high - low > 1) {
            u64 middle = (low + high) / 2;
            if (r.dd_starts[middle] <= first)
                low = middle;
            else
                high = middle;
        }
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
