// What a forward visit does with what it reaches, and how dd arcs are cut, whether rows are encoded or not.

#include "kernels/partition/rank.cuh"

constexpr u32 TILE = 512;  // arcs of dd that a warp takes at once

// The end of an nn arc: what is here is claimed, the rest goes to the bin of the rank that owns it (section V-B).
// Whole warps call it.
__device__ __forceinline__ void reach_normal(const World& w, const Rank& r, bool live, VERTEX vertex, u64 owner) {
    u32 ranks = u32(w.rank_count), own = u32(r.rank);
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
}

// The last of `rows` queued dd rows that begins at or before an arc.
__device__ __forceinline__ u64 row_of_tile(const Rank& r, u64 rows, u64 first) {
    u64 low = 0, high = rows;
    while (high - low > 1) {
        u64 middle = (low + high) / 2;
        if (r.dd_starts[middle] <= first)
            low = middle;
        else
            high = middle;
    }
    return low;
}
