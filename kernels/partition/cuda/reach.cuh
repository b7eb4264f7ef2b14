// What a forward visit does with what it reaches, and how arcs of delegates are cut, whether rows are encoded or not.

#include "kernels/partition/cuda/rank.cuh"

constexpr u32 TILE = 512;  // arcs of delegates that a warp takes at once, where rows are encoded

enum Reading : u32 { READ_NN, READ_ND, READ_DN, READ_DD };

constexpr u32 MAX_RANKS = 256;

// Whether a vertex of another rank has not been sent there yet, where that is remembered.
__device__ __forceinline__ bool unsent(const Rank& r, u32 to, u32 id) {
    if (!r.sent) return true;
    return set_once(r.sent + to * r.sent_words, id);
}

// The next places in the tails of the ranks that live lanes send to. Whole warps call it.
template <class T>
__device__ __forceinline__ T take_places(T* tails, bool live, u32 to) {
    u32 senders = __ballot_sync(ALL_LANES, live);
    if (!live) return 0;
    u32 same = __match_any_sync(senders, to), leader = __ffs(same) - 1;
    T place = lane_id() == leader ? atomicAdd(&tails[to], T(__popc(same))) : 0;
    return __shfl_sync(same, place, leader) + __popc(same & lanes_below());
}

__device__ __forceinline__ void put(const Rank& r, u64 place, u32 id, u32 owner) {
    r.bin_ids[place] = id;
    if (TREE) r.bin_tails[place] = local_of(r, owner);
}

// The ends of nn arcs that other ranks own: they go to those ranks' bins (section V-B).
template <u32 N>
__device__ __forceinline__ void send(const Rank& r, const bool (&live)[N], const u32 (&to)[N], const u32 (&id)[N],
                                     const u32 (&owner)[N]) {
#pragma unroll
    for (u32 k = 0; k < N; ++k) {
        u64 place = take_places(r.bin_tail, live[k], to[k]);
        if (live[k]) put(r, place, id[k], owner[k]);
    }
}

// The same by whole blocks, which ask once for each rank: all blocks ask at one address, where atomics wait for each
// other.
template <u32 N>
__device__ __forceinline__ void send_together(u32 ranks, const Rank& r, const bool (&live)[N], const u32 (&to)[N],
                                              const u32 (&id)[N], const u32 (&owner)[N]) {
    __shared__ u32 counts[MAX_RANKS];
    __shared__ u64 begins[MAX_RANKS];
    u32 place[N];
    for (u32 to_rank = threadIdx.x; to_rank < ranks; to_rank += blockDim.x) counts[to_rank] = 0;
    __syncthreads();
#pragma unroll
    for (u32 k = 0; k < N; ++k) place[k] = take_places(counts, live[k], to[k]);
    __syncthreads();
    for (u32 to_rank = threadIdx.x; to_rank < ranks; to_rank += blockDim.x)
        if (counts[to_rank]) begins[to_rank] = atomicAdd(&r.bin_tail[to_rank], u64(counts[to_rank]));
    __syncthreads();
#pragma unroll
    for (u32 k = 0; k < N; ++k)
        if (live[k]) put(r, begins[to[k]] + place[k], id[k], owner[k]);
}

// The ends of nn arcs: what is here is claimed, the rest sent, by whole warps or blocks.
template <bool TOGETHER, u32 N>
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
    claim<true>(r.seen, r.reached, r.keys, here, id, [&](u32 k) {
        note_class(r, id[k]);
        return normal_key(vertex_of(r, owner[k], ranks));
    });
    if (ranks == 1) return;
    bool goes[N];
#pragma unroll
    for (u32 k = 0; k < N; ++k) goes[k] = live[k] && to[k] != own && unsent(r, to[k], id[k]);
    if (TOGETHER)
        send_together(ranks, r, goes, to, id, owner);
    else
        send(r, goes, to, id, owner);
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
