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

// List the delegates that have arcs to visit: dn rows in chunks, dd rows with the arcs before them. A lane lists all
// of its own at once, so that there is one atomic for as many words as a warp takes. `counts` are this level's.
__device__ __forceinline__ void list_delegates(const World& w, const Rank& r, u64* counts, bool dn, bool dd) {
    u32 width = words_at_once(w.words);
    for (u64 first = global_thread() / WARP * width; first < w.words; first += global_threads() / WARP * width) {
        u64 own = first + lane_id();
        u32 front = lane_id() < width && own < w.words ? r.delegates_front[own] : 0;
        if (!__any_sync(ALL_LANES, front)) continue;
        u64 chunks = 0, rows = 0, arcs = 0;
        auto each = [&](const auto& act) {
            each_bit(first, front, [&](const u32(&d)[WORDS_AT_ONCE], const bool(&mine)[WORDS_AT_ONCE]) {
                OFFSET of_dn[WORDS_AT_ONCE], of_dd[WORDS_AT_ONCE];
#pragma unroll
                for (u32 k = 0; k < WORDS_AT_ONCE; ++k) {
                    of_dn[k] = dn && mine[k] ? r.dn_offsets[d[k] + 1] - r.dn_offsets[d[k]] : 0;
                    of_dd[k] = dd && mine[k] ? r.dd_offsets[d[k] + 1] - r.dd_offsets[d[k]] : 0;
                }
#pragma unroll
                for (u32 k = 0; k < WORDS_AT_ONCE; ++k) act(d[k], (u64(of_dn[k]) + ROW_CHUNK - 1) / ROW_CHUNK, u64(of_dd[k]));
            });
        };
        each([&](u32, u64 of_dn, u64 of_dd) {
            chunks += of_dn;
            rows += of_dd != 0;
            arcs += of_dd;
        });
        u64 packed = rows << MERGE_BITS | arcs, upto = warp_inclusive_sum(chunks), merged = warp_inclusive_sum(packed);
        u64 all = __shfl_sync(ALL_LANES, upto, WARP - 1), whole = __shfl_sync(ALL_LANES, merged, WARP - 1), at = 0, tail = 0;
        if (all && lane_id() == 0) at = atomicAdd(&counts[DN_TAIL], all);
        if (whole && lane_id() == 0) tail = atomicAdd(&counts[DD_TAIL], whole);
        at = __shfl_sync(ALL_LANES, at, 0) + upto - chunks;
        tail = __shfl_sync(ALL_LANES, tail, 0) + merged - packed;
        each([&](u32 d, u64 of_dn, u64 of_dd) {
            for (u64 chunk = 0; chunk < of_dn; ++chunk) r.dn_queue[at++] = u64(d) << 32 | chunk;
            if (!of_dd) return;
            r.dd_queue[tail >> MERGE_BITS] = d;
            r.dd_starts[tail >> MERGE_BITS] = tail & MERGE_ARCS;
            tail += 1ull << MERGE_BITS | of_dd;
        });
    }
}
