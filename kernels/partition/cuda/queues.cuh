// The queues of forward visits. They are made of the frontier's bits when directions are known, since backward visits
// need none; but a frontier that cannot be large is listed as it is committed, which saves a barrier. So is that of nn,
// unless all its arcs are gone through.

#include "kernels/partition/cuda/directions.cuh"
#include "kernels/partition/cuda/commit.cuh"

// The visits that are forward in this level.
struct Forward {
    bool nn, nd, dn, dd;

    __device__ __forceinline__ bool queued() const { return nd || dn || dd; }
};

template <class Counts>
__device__ __forceinline__ Forward forward_of(const Local& l, const Counts& count) {
    return {count(NN_ROWS) != 0, count(ND_ROWS) && !(l.backward >> ND & 1), count(DN_ROWS) && !(l.backward >> DN & 1),
            count(DD_ROWS) && !(l.backward >> DD & 1)};
}

// List the normal vertices that have nd arcs to visit; `counts` are this level's.
__device__ __forceinline__ void list_normals(const Rank& r, u64* counts) {
    u32 words = u32(r.local_words), width = words_at_once(words), rows = 0;
    u32 begin_at = u32(global_thread() / WARP) * width, stride = u32(global_threads() / WARP) * width;
    auto bits_of = [&](u32 first) {
        u32 own = first + lane_id();
        return lane_id() < width && own < words ? r.front[own] & r.nd_mask[own] : 0;
    };
    for (u32 first = begin_at; first < words; first += stride) rows += __popc(bits_of(first));
    u64 wanted[1] = {__reduce_add_sync(ALL_LANES, rows)}, begin[1];
    u64* const tails[1] = {&counts[ND_TAIL]};
    if (!wanted[0]) return;
    reserve(wanted, tails, begin);
    for (u32 first = begin_at; first < words; first += stride)
        begin[0] = list_bits(r.nd_queue, begin[0], first, bits_of(first));
}

// List the delegates that have arcs to visit, each with the arcs before it. `counts` are this level's.
__device__ __forceinline__ void list_delegates(const World& w, const Rank& r, u64* counts, bool dn, bool dd) {
    auto entry = [](u32 arcs) { return u64(arcs != 0) << MERGE_BITS | arcs; };
    auto list = [](u32* queue, u64* starts, u64 tail, u32 d, u64 added) {
        if (!added) return;
        queue[tail >> MERGE_BITS] = d;
        starts[tail >> MERGE_BITS] = tail & MERGE_ARCS;
    };
    // Counted first: a lane lists all of its own side by side, whatever words they are of.
    u64 at[2] = {};
#pragma unroll 1
    for (bool lists = false;; lists = true) {
        assign_words(w.words, [&](u32 own, bool live) {
            u32 front = live ? r.delegates_front[own] : 0;
            each_bit(own, front, [&](const u32(&d)[WORDS_AT_ONCE], const bool(&mine)[WORDS_AT_ONCE]) {
                uint2 lengths[WORDS_AT_ONCE];
#pragma unroll
                for (u32 k = 0; k < WORDS_AT_ONCE; ++k) lengths[k] = mine[k] ? lengths_of(r, d[k]) : make_uint2(0, 0);
#pragma unroll
                for (u32 k = 0; k < WORDS_AT_ONCE; ++k) {
                    u64 of_dn = entry(dn ? lengths[k].x : 0), of_dd = entry(dd ? lengths[k].y : 0);
                    if (lists) list(r.dn_queue, r.dn_starts, at[0], d[k], of_dn), list(r.dd_queue, r.dd_starts, at[1], d[k], of_dd);
                    at[0] += of_dn, at[1] += of_dd;
                }
            });
        });
        if (lists || !__any_sync(ALL_LANES, (at[0] | at[1]) != 0)) return;
        u64 wanted[2], begin[2];
        u64* const tails[2] = {&counts[DN_TAIL], &counts[DD_TAIL]};
#pragma unroll
        for (u32 k = 0; k < 2; ++k) {
            u64 upto = warp_inclusive_sum(at[k]);
            wanted[k] = __shfl_sync(ALL_LANES, upto, WARP - 1);
            at[k] = upto - at[k];
        }
        reserve(wanted, tails, begin);
        at[0] += begin[0], at[1] += begin[1];
    }
}
