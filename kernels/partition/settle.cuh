// Between two levels: masks are reduced, arrivals taken in, labels written, the next frontier listed and its work
// counted. Peer memory is only read, in ascending order.

#include "kernels/partition/rank.cuh"

// Counts of one thread, added up over the block and then to the rank's.
struct Tally {
    u64 nd_rows = 0, nd_arcs = 0, nn_arcs = 0, d_fresh = 0, dn_rows = 0, dn_arcs = 0, dd_rows = 0;

    __device__ __forceinline__ void add(u64* sums, u32 place, u64 value) {
        value = warp_sum(value);
        if (lane_id() == 0 && value) atomicAdd(&sums[place], value);
    }

    // `sums` is zero; it is so again afterwards.
    __device__ __forceinline__ void finish(u64* sums, u64* counts) {
        __syncthreads();
        add(sums, ND_ROWS, nd_rows);
        add(sums, ND_ARCS, nd_arcs);
        add(sums, NN_ARCS, nn_arcs);
        add(sums, D_FRESH, d_fresh);
        add(sums, DN_ROWS, dn_rows);
        add(sums, DN_ARCS, dn_arcs);
        add(sums, DD_ROWS, dd_rows);
        __syncthreads();
        if (threadIdx.x < COUNTS) {
            u64 sum = sums[threadIdx.x];
            if (sum) atomicAdd(&counts[threadIdx.x], sum);
            sums[threadIdx.x] = 0;
        }
        __syncthreads();
    }
};

// List a delegate of each lane for the next level's visits.
__device__ __forceinline__ void list_delegates(const Rank& r, u64* counts, bool fresh, u64 d, Tally& tally) {
    u64 dn = fresh ? u64(r.dn_offsets[d + 1] - r.dn_offsets[d]) : 0;
    u64 dd = fresh ? u64(r.dd_offsets[d + 1] - r.dd_offsets[d]) : 0;
    tally.dn_rows += dn != 0;
    tally.dn_arcs += dn;
    tally.dd_rows += dd != 0;
    u32 chunks = u32((dn + ROW_CHUNK - 1) / ROW_CHUNK);
    u32 upto = warp_inclusive_sum(chunks), all = __shfl_sync(ALL_LANES, upto, WARP - 1);
    u64 place = 0;
    if (all && lane_id() == 0) place = atomicAdd(&counts[DN_TAIL], u64(all));
    place = __shfl_sync(ALL_LANES, place, 0) + upto - chunks;
    for (u32 chunk = 0; chunk < chunks; ++chunk) r.dn_queue[place + chunk] = d << 32 | chunk;

    u32 rows = __ballot_sync(ALL_LANES, dd != 0);
    if (!rows) return;
    u64 before = warp_inclusive_sum(dd), arcs = __shfl_sync(ALL_LANES, before, WARP - 1), tail = 0;
    if (lane_id() == 0) tail = atomicAdd(&counts[DD_TAIL], u64(__popc(rows)) << MERGE_BITS | arcs);
    tail = __shfl_sync(ALL_LANES, tail, 0);
    if (!dd) return;
    u64 slot = (tail >> MERGE_BITS) + __popc(rows & lanes_below());
    r.dd_queue[slot] = u32(d);
    r.dd_starts[slot] = (tail & MERGE_ARCS) + before - dd;
}

// Take in the delegates that were found; `reduced(word)` gives all ranks' masks of this level, and each word is
// asked for once.
template <class Reduced>
__device__ __forceinline__ void settle_delegates(const World& w, const Rank& r, i32 depth, u64* counts, Tally& tally,
                                                 const Reduced& reduced) {
    u32 width = words_at_once(w.words);
    for (u64 first = global_thread() / WARP * width; first < w.words; first += global_threads() / WARP * width) {
        u64 own = first + lane_id();
        u32 fresh = 0;
        if (lane_id() < width && own < w.words) {
            fresh = reduced(own);
            u32 seen = r.delegates_seen[own];
            fresh &= ~seen;
            if (fresh) r.delegates_seen[own] = seen | fresh;
        }
        u32 some = __ballot_sync(ALL_LANES, fresh != 0);
        while (some) {
            u32 from = __ffs(some) - 1;
            some &= some - 1;
            bool mine = __shfl_sync(ALL_LANES, fresh, from) >> lane_id() & 1;
            u64 d = (first + from) * 32 + lane_id();
            if (mine) r.delegate_distance[d] = depth;
            tally.d_fresh += mine;
            list_delegates(r, counts, mine, d, tally);
        }
    }
}

// Take in what other ranks' nn arcs reached here.
__device__ __forceinline__ void receive(const World& w, const Rank& r, u64* counts) {
    for (u32 from = 0; from < w.rank_count; ++from) {
        if (from == r.rank) continue;
        const Rank& sender = w.ranks[from];
        u64 last = __ldcv(&sender.bin_tail[r.rank]);
        if (global_thread() == 0 && last > r.came[from]) atomicAdd(&counts[ARRIVED], last - r.came[from]);
        for (u64 i = r.came[from] + global_thread(); i < last; i += global_threads()) {
            u32 local = __ldcv(&sender.bin_ids[i]);
            if (test_bit(r.seen, local)) continue;
            set_bit(r.fresh, local);
            // Delegates found theirs already, and come first; only for the others is the tail asked for.
            if (TREE && __ldcv(&r.keys[local]) >= NORMAL_CLASS)
                atomicMin(&r.keys[local], NORMAL_CLASS | (u64(__ldcv(&sender.bin_tails[i])) * w.rank_count + from));
        }
    }
}

// Remember how far the others' bins were read.
__device__ __forceinline__ void mark_received(const World& w, const Rank& r) {
    if (global_thread() < w.rank_count && global_thread() != r.rank)
        r.came[global_thread()] = __ldcv(&w.ranks[global_thread()].bin_tail[r.rank]);
}

// Label the fresh normal vertices and make them the frontier.
__device__ __forceinline__ void settle_normals(const Rank& r, i32 depth, u64* counts, Tally& tally) {
    u32 width = words_at_once(r.local_words);
    for (u64 first = global_thread() / WARP * width; first < r.local_words; first += global_threads() / WARP * width) {
        u64 own = first + lane_id();
        u32 fresh = lane_id() < width && own < r.local_words ? r.fresh[own] : 0;
        if (fresh) {
            r.seen[own] |= fresh;
            r.fresh[own] = 0;
        }
        u32 upto = warp_inclusive_sum(u32(__popc(fresh))), all = __shfl_sync(ALL_LANES, upto, WARP - 1);
        if (!all) continue;
        u64 base = 0;
        if (lane_id() == 0) base = atomicAdd(&counts[N_FRESH], u64(all));
        base = __shfl_sync(ALL_LANES, base, 0);
        u32 some = __ballot_sync(ALL_LANES, fresh != 0);
        while (some) {
            u32 from = __ffs(some) - 1;
            some &= some - 1;
            u32 bits = __shfl_sync(ALL_LANES, fresh, from), before = __shfl_sync(ALL_LANES, upto, from) - __popc(bits);
            if (!(bits >> lane_id() & 1)) continue;
            u64 local = (first + from) * 32 + lane_id();
            r.distance[local] = depth;
            r.queue[base + before + __popc(bits & lanes_below())] = u32(local);
            u64 nd = u64(r.nd_offsets[local + 1] - r.nd_offsets[local]);
            tally.nd_rows += nd != 0;
            tally.nd_arcs += nd;
            tally.nn_arcs += u64(r.nn_offsets[local + 1] - r.nn_offsets[local]);
        }
        __syncwarp();
    }
}
