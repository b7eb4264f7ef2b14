// What ranks on peer devices do by stages (Pan, Pearce, Owens 2018, section V): masks in rounds, and with groups the local
// all-to-all. A vertex for a rank of another group is read by the member of this group that has the receiver's place there,
// and listed for that group; after a barrier, the receiver reads that list. With uniquify a member lists no vertex twice,
// whichever of its mates had it.

#include "kernels/partition/cuda/rounds_of_masks.cuh"
#include "kernels/partition/cuda/commit.cuh"

#ifndef STAGED
#define STAGED 0
#endif

// Of a launch; kernels/partition/cuda/ranks_staged.cu reads the first three, ranks_culled.cu the last. The fields are in
// kernels/partition/cuda/launch.py too.
struct Stages {
    const u32* schedule;
    u64 rounds;
    u64 members;  // ranks of a group with local all-to-all, else 0
    u64 parts;    // of `Part` in culled.cuh
};

__device__ __forceinline__ bool relays(const Stages& s, u64 ranks) { return STAGED && s.members && s.members < ranks; }

// How vertices come from a rank to another: from its bin, from what it lists for the other's group, or not at all.
enum Way : u32 { BY_BIN, BY_LIST, BY_NONE };
__device__ __forceinline__ Way way_of(const Stages& s, u64 ranks, u64 from, u64 to) {
    if (!relays(s, ranks) || from / s.members == to / s.members) return BY_BIN;
    return from % s.members == to % s.members ? BY_LIST : BY_NONE;
}

// Forget the last search; lists are read from where they begin.
__device__ __forceinline__ void begin_relay(const World& w, const Rank& r, const Stages& s) {
    if (!relays(s, w.rank_count)) return;
    u64 members = s.members, groups = w.rank_count / members, own = r.rank / members, place = r.rank % members;
    if (r.relay_sent) fill(r.relay_sent, groups * r.sent_words, 0u);
    for (u64 i = global_thread(); i < w.rank_count; i += global_threads()) {
        u64 mate = own * members + i / groups, to = i % groups * members + place;
        r.relay_taken[i] = r.relay_taken[w.rank_count + i] = w.ranks[mate].bin_start[to];
        if (i < groups) r.relay_tail[i] = r.relay_start[i];
        if (way_of(s, w.rank_count, i, r.rank) == BY_LIST)
            r.came[i] = r.came[w.rank_count + i] = w.ranks[i].relay_start[own];
    }
}

// List what the mates' bins hold for this rank's place in other groups. How far they were read is kept for the next level,
// which is on the other `side`.
__device__ __forceinline__ void relay(const World& w, const Rank& r, const Stages& s, u64* counts, u64 side) {
    u64 members = s.members, groups = w.rank_count / members, own = r.rank / members, place = r.rank % members;
    const u64* taken = r.relay_taken + side * w.rank_count;
    u64* next = r.relay_taken + (side ^ 1) * w.rank_count;
    for (u64 i = 0; i < w.rank_count; ++i) {
        u64 mate = own * members + i / groups, group = i % groups;
        if (group == own) continue;
        const Rank& sender = w.ranks[mate];
        u64 first = taken[i], last = __ldcv(&sender.bin_tail[group * members + place]);
        if (global_thread() == 0) {
            next[i] = last;
            if (last > first && mate != r.rank) atomicAdd(&counts[ARRIVED], last - first);
        }
        // Whole warps take places.
        for (u64 base = first + global_thread() - lane_id(); base < last; base += global_threads()) {
            u64 at = base + lane_id();
            bool live = at < last;
            u32 id = live ? __ldcv(&sender.bin_ids[at]) : 0;
            if (live && r.relay_sent) live = set_once(r.relay_sent + group * r.sent_words, id);
            u64 to = take_places(r.relay_tail, live, u32(group));
            if (!live) continue;
            r.relay_ids[to] = id;
            if (TREE) r.relay_tails[to] = VERTEX(u64(__ldcv(&sender.bin_tails[at])) * w.rank_count + mate);
        }
    }
}

// How far there is something for a rank in what another has.
__device__ __forceinline__ u64 tail_for(const World& w, const Rank& r, const Stages& s, u64 from) {
    Way way = way_of(s, w.rank_count, from, r.rank);
    if (way == BY_NONE) return 0;
    return __ldcv(way == BY_BIN ? &w.ranks[from].bin_tail[r.rank] : &w.ranks[from].relay_tail[r.rank / s.members]);
}

// Take in what other ranks' nn arcs reached here, up to `tails` in their bins and lists.
__device__ __forceinline__ void receive(const World& w, const Rank& r, const Stages& s, u64* counts, u64 side,
                                        const u64* tails) {
    u64* came = r.came + side * w.rank_count;
    u64* next = r.came + (side ^ 1) * w.rank_count;
    for (u32 from = 0; from < w.rank_count; ++from) {
        Way way = way_of(s, w.rank_count, from, r.rank);
        if (from == r.rank || way == BY_NONE) continue;
        const Rank& sender = w.ranks[from];
        if (way == BY_BIN)
            receive_from(r, counts, came[from], tails[from], next[from], sender.bin_ids,
                         [&](u64 i) { return u64(__ldcv(&sender.bin_tails[i])) * w.rank_count + from; });
        else
            receive_from(r, counts, came[from], tails[from], next[from], sender.relay_ids,
                         [&](u64 i) { return u64(__ldcv(&sender.relay_tails[i])); });
    }
}
