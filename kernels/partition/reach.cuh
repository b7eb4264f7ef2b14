// What a forward visit does with what it reaches, and how arcs of delegates are cut, whether rows are encoded or not.

#include "kernels/partition/rank.cuh"

constexpr u32 TILE = 512;  // arcs of delegates that a warp takes at once, where rows are encoded

enum Reading : u32 { READ_NN, READ_ND, READ_DN, READ_DD };

// The end of an nn arc that another rank owns: it goes to that rank's bin (section V-B). Whole warps call it.
__device__ __forceinline__ void send(const Rank& r, bool live, u32 to, u32 id, u32 owner) {
    if (live && r.sent) {
        u32 bit = 1u << (id & 31);
        u32* word = r.sent + to * r.sent_words + (id >> 5);
        live = !(*reinterpret_cast<volatile u32*>(word) & bit) && !(atomicOr(word, bit) & bit);
    }
    u32 senders = __ballot_sync(ALL_LANES, live);
    if (!live) return;
    u32 same = __match_any_sync(senders, to), leader = __ffs(same) - 1;
    u64 place = 0;
    if (lane_id() == leader) place = atomicAdd(&r.bin_tail[to], u64(__popc(same)));
    place = __shfl_sync(same, place, leader) + __popc(same & lanes_below());
    r.bin_ids[place] = id;
    if (TREE) r.bin_tails[place] = owner;
}

// The ends of nn arcs: what is here is claimed, the rest sent. Whole warps call it.
template <u32 N>
__device__ __forceinline__ void reach_normals(const World& w, const Rank& r, const bool (&live)[N], const VERTEX (&vertex)[N],
                                              const u32 (&owner)[N]) {
    u32 ranks = u32(w.rank_count), own = u32(r.rank);
    u32 to[N], id[N];
    bool here[N];
#pragma unroll
    for (u32 k = 0; k < N; ++k) {
        to[k] = ranks == 1 ? 0 : u32(vertex[k] % ranks);
        id[k] = ranks == 1 ? u32(vertex[k]) : u32(vertex[k] / ranks);
        here[k] = live[k] && to[k] == own;
    }
    claim<true>(r.seen, r.reached, r.keys, here, id, [&](u32 k) { return NORMAL_CLASS | (u64(owner[k]) * ranks + own); });
    if (ranks == 1) return;
#pragma unroll
    for (u32 k = 0; k < N; ++k) send(r, live[k] && to[k] != own, to[k], id[k], owner[k]);
}

// The last of `rows` queued rows that begins at or before an arc; whole warps call it.
__device__ __forceinline__ u64 row_of_arc(const u64* starts, u64 rows, u64 first) {
    u64 low = 0, high = rows;
    while (high - low > 1) {
        u64 step = (high - low + WARP - 1) / WARP, at = low + lane_id() * step;
        u32 before = __popc(__ballot_sync(ALL_LANES, at < high && starts[at] <= first));
        low += (before - 1) * step;
        high = low + step < high ? low + step : high;
    }
    return low;
}
