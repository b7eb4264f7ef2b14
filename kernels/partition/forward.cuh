// Forward visits. nn, nd and dn rows are mapped to lanes, warps or blocks by their lengths (the paper's section
// IV-A, after Merrill's hybrid gather); dd arcs are cut evenly over the warps wherever rows end (merge-based).

#include "kernels/partition/rank.cuh"

constexpr u32 WARP_ROW = 32, BLOCK_ROW = 512;  // arcs from which on a row is a warp's or a block's
constexpr u32 TILE = 512;                       // arcs of dd that a warp takes at once

struct BlockRow {
    u64 begin, owner;
    u32 length, thread;
};

// `rows(i, begin, length, owner)` gives the i-th row; `visit(live, arc, owner)` is called by whole warps.
template <class Rows, class Visit>
__device__ __forceinline__ void visit_by_length(BlockRow& shared, u64 count, const Rows& rows, const Visit& visit) {
    for (u64 first = u64(blockIdx.x) * blockDim.x; first < count; first += global_threads()) {
        u64 i = first + threadIdx.x, begin = 0, owner = 0;
        u32 length = 0;
        if (i < count) rows(i, begin, length, owner);
        while (__syncthreads_or(length >= BLOCK_ROW)) {
            if (length >= BLOCK_ROW) shared.thread = threadIdx.x;
            __syncthreads();
            if (length >= BLOCK_ROW && shared.thread == threadIdx.x) {
                shared.begin = begin;
                shared.owner = owner;
                shared.length = length;
                length = 0;
            }
            __syncthreads();
            u64 from = shared.begin, of = shared.owner;
            for (u32 at = 0; at < shared.length; at += blockDim.x)
                visit(at + threadIdx.x < shared.length, from + at + threadIdx.x, of);
            __syncthreads();
        }
        u32 wide = __ballot_sync(ALL_LANES, length >= WARP_ROW);
        while (wide) {
            u32 lane = __ffs(wide) - 1;
            wide &= wide - 1;
            u64 from = __shfl_sync(ALL_LANES, begin, lane), of = __shfl_sync(ALL_LANES, owner, lane);
            u32 arcs = __shfl_sync(ALL_LANES, length, lane);
            for (u32 at = 0; at < arcs; at += WARP) visit(at + lane_id() < arcs, from + at + lane_id(), of);
        }
        u32 few = length < WARP_ROW ? length : 0;
        u32 upto = warp_inclusive_sum(few), total = __shfl_sync(ALL_LANES, upto, WARP - 1);
        for (u32 at = 0; at < total; at += WARP) {
            u32 k = at + lane_id(), lane = 0;
#pragma unroll
            for (u32 step = WARP / 2; step; step /= 2)
                if (k >= __shfl_sync(ALL_LANES, upto, lane + step - 1)) lane += step;
            u64 from = __shfl_sync(ALL_LANES, begin, lane), of = __shfl_sync(ALL_LANES, owner, lane);
            u32 before = __shfl_sync(ALL_LANES, upto - few, lane);
            visit(k < total, from + (k - before), of);
        }
    }
}

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
