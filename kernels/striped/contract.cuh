// Contract (Merrill, Garland, Grimshaw 2012, section 6.1, step 4): a rank reads the bins that all ranks made for it
// this level, out of their memory, claims what is not visited and so makes its next frontier.

#include "kernels/striped/stripe.cuh"

// Claim an entry of a bin; true for the one that finds its vertex first.
__device__ __forceinline__ bool claim(const World& w, const Stripe& r, const Stripe& sender, u64 entry, u32 local,
                                      u32 depth) {
    if (!TREE) return r.distance[local] == -1 && atomicCAS(&r.distance[local], -1, i32(depth)) == -1;
    // Keys only fall, so one that is read late is too large at most.
    u64 known = r.keys[local];
    if (known >> KEY_SHIFT < depth) return false;
    u64 mine = make_key(depth, u64(__ldcv(&sender.bin_tails[entry])) * w.rank_count + sender.rank);
    return mine < known && atomicMin(&r.keys[local], mine) == UNREACHED;
}

__device__ __forceinline__ void contract(const World& w, const Stripe& r, u64 level, u32 parts) {
    u64 ranks = w.rank_count, now = (level & 1) * ranks, later = (level + 1 & 1) * ranks;
    for (u64 step = 0; step < ranks; ++step) {
        // Every rank begins with its own bin, so that they do not all read from one.
        u64 from = (r.rank + step) % ranks;
        const Stripe& sender = w.stripes[from];
        u64 kept = load_relaxed_system(&sender.counts[w.side(level) + KEPT + r.rank]), first = r.came[now + from];
        if (global_thread() == 0) {
            r.came[later + from] = first + kept;
            r.sent[later + from] = r.sent[now + from] + load_relaxed(&r.counts[w.side(level) + KEPT + from]);
        }
        for (u64 base = global_thread() - lane_id(); base < kept; base += global_threads()) {
            bool live = base + lane_id() < kept;
            u64 entry = first + base + lane_id();
            u32 local = live ? __ldcv(&sender.bin_ids[entry]) : 0;
            bool newly = live && claim(w, r, sender, entry, local, u32(level) + 1);
            if (!__any_sync(ALL_LANES, newly)) continue;
            if (newly && parts & LOOK_BITMASK && from != r.rank) {
                u64 vertex = u64(local) * ranks + r.rank;
                atomicOr(&r.bitmask[vertex >> 5], 1u << (vertex & 31));
            }
            append(r.queue, &r.tails[QUEUED], newly, local);
            bool huge = newly && u64(r.row_offsets[u64(local) + 1] - r.row_offsets[local]) > w.longest;
            append(r.huge, &r.tails[LISTED_HUGE], huge, local);
        }
    }
}
