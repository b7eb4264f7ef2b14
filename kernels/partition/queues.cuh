// The queues of forward visits, made of the frontier's bits when directions are known: backward visits need none.

#include "kernels/partition/directions.cuh"
#include "kernels/partition/settle.cuh"

// The visits that go through a queue in this level. nn is forward always.
struct Forward {
    bool nn, nd, dn, dd;

    __device__ __forceinline__ bool normals() const { return nn || nd; }
    __device__ __forceinline__ bool delegates() const { return dn || dd; }
};

template <class Counts>
__device__ __forceinline__ Forward forward_of(const Local& l, const Counts& count) {
    return {count(NN_ARCS) != 0, count(ND_ROWS) && !(l.backward >> ND & 1), count(DN_ROWS) && !(l.backward >> DN & 1),
            count(DD_ROWS) && !(l.backward >> DD & 1)};
}

// List the normal vertices that have arcs to visit; `counts` are this level's.
__device__ __forceinline__ void list_normals(const Rank& r, u64* counts, bool nd) {
    u32 width = words_at_once(r.local_words);
    for (u64 first = global_thread() / WARP * width; first < r.local_words; first += global_threads() / WARP * width) {
        u64 own = first + lane_id();
        u32 front = lane_id() < width && own < r.local_words ? r.front[own] : 0, wanted = 0;
        each_bit(first, front, [&](const u64(&local)[BATCH], const bool(&mine)[BATCH]) {
            u32 lengths[BATCH];
#pragma unroll
            for (u32 k = 0; k < BATCH; ++k) lengths[k] = mine[k] ? r.normal_lengths[local[k]] : 0;
#pragma unroll
            for (u32 k = 0; k < BATCH; ++k) {
                u32 bits = __ballot_sync(ALL_LANES, nd ? lengths[k] != 0 : lengths[k] >> LENGTH_BITS != 0);
                if (bits && own == local[k] / 32) wanted = bits;
            }
        });
        u32 upto = warp_inclusive_sum(u32(__popc(wanted))), all = __shfl_sync(ALL_LANES, upto, WARP - 1);
        if (!all) continue;
        u64 base = 0;
        if (lane_id() == 0) base = atomicAdd(&counts[N_TAIL], u64(all));
        base = __shfl_sync(ALL_LANES, base, 0);
        for (u32 some = __ballot_sync(ALL_LANES, wanted != 0); some; some &= some - 1) {
            u32 from = __ffs(some) - 1, bits = __shfl_sync(ALL_LANES, wanted, from);
            u32 before = __shfl_sync(ALL_LANES, upto, from) - __popc(bits);
            if (bits >> lane_id() & 1)
                r.queue[base + before + __popc(bits & lanes_below())] = u32((first + from) * 32 + lane_id());
        }
    }
}

// List the delegates that have arcs to visit: dn rows in chunks, dd rows with the arcs before them. A lane lists all
// of its own at once, so that there is one atomic for as many words as a warp takes.
__device__ __forceinline__ void list_delegates(const World& w, const Rank& r, u64* counts, bool dn, bool dd) {
    u32 width = words_at_once(w.words);
    for (u64 first = global_thread() / WARP * width; first < w.words; first += global_threads() / WARP * width) {
        u64 own = first + lane_id();
        u32 front = lane_id() < width && own < w.words ? r.delegates_front[own] : 0;
        if (!__any_sync(ALL_LANES, front)) continue;
        u64 chunks = 0, rows = 0, arcs = 0;
        auto each = [&](const auto& act) {
            each_bit(first, front, [&](const u64(&d)[BATCH], const bool(&mine)[BATCH]) {
                u64 of_dn[BATCH], of_dd[BATCH];
#pragma unroll
                for (u32 k = 0; k < BATCH; ++k) {
                    of_dn[k] = dn && mine[k] ? u64(r.dn_offsets[d[k] + 1] - r.dn_offsets[d[k]]) : 0;
                    of_dd[k] = dd && mine[k] ? u64(r.dd_offsets[d[k] + 1] - r.dd_offsets[d[k]]) : 0;
                }
#pragma unroll
                for (u32 k = 0; k < BATCH; ++k) act(d[k], (of_dn[k] + ROW_CHUNK - 1) / ROW_CHUNK, of_dd[k]);
            });
        };
        each([&](u64, u64 of_dn, u64 of_dd) {
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
        each([&](u64 d, u64 of_dn, u64 of_dd) {
            for (u64 chunk = 0; chunk < of_dn; ++chunk) r.dn_queue[at++] = d << 32 | chunk;
            if (!of_dd) return;
            r.dd_queue[tail >> MERGE_BITS] = u32(d);
            r.dd_starts[tail >> MERGE_BITS] = tail & MERGE_ARCS;
            tail += 1ull << MERGE_BITS | of_dd;
        });
    }
}
