// The queues of forward visits. They are made of the frontier's bits when directions are known, since backward visits
// need none; but a frontier that cannot be large is listed as it settles, which saves a meeting. That of nn, which
// is forward always, is made so in any case.

#include "kernels/partition/directions.cuh"
#include "kernels/partition/settle.cuh"

// The visits that are forward in this level.
struct Forward {
    bool nn, nd, dn, dd;

    __device__ __forceinline__ bool queued() const { return nd || dn || dd; }
};

template <class Counts>
__device__ __forceinline__ Forward forward_of(const Local& l, const Counts& count) {
    return {count(NN_ARCS) != 0, count(ND_ROWS) && !(l.backward >> ND & 1), count(DN_ROWS) && !(l.backward >> DN & 1),
            count(DD_ROWS) && !(l.backward >> DD & 1)};
}

// List the normal vertices that have nd arcs to visit; `counts` are this level's.
__device__ __forceinline__ void list_normals(const Rank& r, u64* counts) {
    u32 width = words_at_once(r.local_words);
    for (u64 first = global_thread() / WARP * width; first < r.local_words; first += global_threads() / WARP * width) {
        u64 own = first + lane_id();
        bool live = lane_id() < width && own < r.local_words;
        enqueue(r.nd_queue, &counts[ND_TAIL], first, live ? r.front[own] & r.nd_mask[own] : 0);
    }
}

// List the delegates that have arcs to visit, each with the arcs before it. A lane lists all of its own at once, so that
// there is one atomic for as many words as a warp takes. `counts` are this level's.
__device__ __forceinline__ void list_delegates(const World& w, const Rank& r, u64* counts, bool dn, bool dd) {
    u32 width = words_at_once(w.words);
    for (u64 first = global_thread() / WARP * width; first < w.words; first += global_threads() / WARP * width) {
        u64 own = first + lane_id();
        u32 front = lane_id() < width && own < w.words ? r.delegates_front[own] : 0;
        if (!__any_sync(ALL_LANES, front)) continue;
        u64 packed[2] = {}, all[2], at[2] = {};
        auto each = [&](const auto& act) {
            each_bit(first, front, [&](const u32(&d)[WORDS_AT_ONCE], const bool(&mine)[WORDS_AT_ONCE]) {
                uint2 lengths[WORDS_AT_ONCE];
#pragma unroll
                for (u32 k = 0; k < WORDS_AT_ONCE; ++k) lengths[k] = mine[k] ? lengths_of(r, d[k]) : make_uint2(0, 0);
#pragma unroll
                for (u32 k = 0; k < WORDS_AT_ONCE; ++k) act(d[k], dn ? lengths[k].x : 0, dd ? lengths[k].y : 0);
            });
        };
        auto entry = [](u32 arcs) { return u64(arcs != 0) << MERGE_BITS | arcs; };
        each([&](u32, u32 of_dn, u32 of_dd) {
            packed[0] += entry(of_dn);
            packed[1] += entry(of_dd);
        });
#pragma unroll
        for (u32 k = 0; k < 2; ++k) {
            u64 upto = warp_inclusive_sum(packed[k]);
            all[k] = __shfl_sync(ALL_LANES, upto, WARP - 1);
            packed[k] = upto - packed[k];
        }
        // Both are asked for before one is awaited.
        if (lane_id() == 0 && all[0]) at[0] = atomicAdd(&counts[DN_TAIL], all[0]);
        if (lane_id() == 0 && all[1]) at[1] = atomicAdd(&counts[DD_TAIL], all[1]);
#pragma unroll
        for (u32 k = 0; k < 2; ++k) at[k] = __shfl_sync(ALL_LANES, at[k], 0) + packed[k];
        auto list = [](u32* queue, u64* starts, u64& tail, u32 d, u64 added) {
            if (!added) return;
            queue[tail >> MERGE_BITS] = d;
            starts[tail >> MERGE_BITS] = tail & MERGE_ARCS;
            tail += added;
        };
        each([&](u32 d, u32 of_dn, u32 of_dd) {
            list(r.dn_queue, r.dn_starts, at[0], d, entry(of_dn));
            list(r.dd_queue, r.dd_starts, at[1], d, entry(of_dd));
        });
    }
}
