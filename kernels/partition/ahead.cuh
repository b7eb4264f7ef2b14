// What all blocks of a device know of a level: counts, directions, and which queues are there.

#include "kernels/partition/meeting.cuh"
#include "kernels/partition/queues.cuh"

constexpr u32 MOST_HERE = 16;  // ranks of a device

// Arcs of a frontier, none of which is visited backward, up to which what they find is listed as it settles. Of
// Kronecker graphs of scales 22 and 24 searches on one H200 that list nothing so took 4 to 6 % longer, with 1 Mi arcs up
// to 3 % longer, and with 16 or 64 Ki as long within 1 %.
constexpr u64 LISTED_ARCS = 1 << 14;

// Of the normal vertices with delegates nearby one in so many may still be hidden, for what is found of them to be listed
// for nn: a frontier after a large one is small again. With 3 or 32 the same searches took as long within 3 %. So it is
// where no visit is backward: searches of scale 26 took 5 % less on one H200 and 6 % on two.
constexpr u32 LISTED_SHARE = 8;

// What a block knows of a rank in a level.
struct Ahead {
    Local local;
    Forward forward;
    // Whether its queues are there, and those of the next level will be when that begins; of nn and of the others.
    bool nn_listed, listed, nn_lists, lists;
    u64 counts[COUNTS];
};

__device__ __forceinline__ void look_ahead(Ahead& a, const Rank& r, const Factors& factors, bool nn_backward) {
    auto count = [&](u32 place) { return a.counts[place]; };
    decide(a.local, count, factors);
    a.forward = forward_of(a.local, count);
    a.forward.nn &= !nn_backward;
    a.nn_listed = a.nn_lists;
    a.listed = a.lists;
    a.lists = !a.local.backward && count(ND_ARCS) + count(NN_ARCS) + count(DN_ARCS) + count(DD_ARCS) <= LISTED_ARCS;
    a.nn_lists = a.lists || !r.nn_owners || !a.local.backward || LISTED_SHARE * a.local.hidden[ND] <= r.nd_source_count;
}

// Some threads of a block read the counts of the ranks here, in one go.
__device__ __forceinline__ void read_counts(const Rank* own, u64 here_count, Ahead* ahead, u64 level, u32 thread, u32 threads) {
    for (u32 i = thread; i < here_count * COUNTS; i += threads)
        ahead[i / COUNTS].counts[i % COUNTS] = load_relaxed(&own[i / COUNTS].counts[level % SIDES * COUNTS + i % COUNTS]);
}

// What all ranks know of a level: its frontier, whether nn is visited backward, the nn arcs of vertices that are not
// seen then, and whether its arcs are few.
struct Everywhere {
    u64 frontier, nn_left;
    bool nn_backward, few;
};

// The frontier's normal vertices, their nn arcs and all arcs, of all ranks. The first warp calls it.
__device__ __forceinline__ void count_all(const World& w, u64 level, u64& normals, u64& nn_arcs, u64& arcs) {
    u64 side = level % SIDES * COUNTS;
    normals = nn_arcs = arcs = 0;
    for (u32 from = lane_id(); from < w.rank_count; from += WARP) {
        const u64* counts = w.ranks[from].counts + side;
        u64 fresh = __ldcv(&counts[N_FRESH]), nn = __ldcv(&counts[NN_ARCS]), nd = __ldcv(&counts[ND_ARCS]);
        u64 dn = __ldcv(&counts[DN_ARCS]), dd = __ldcv(&counts[DD_ARCS]);
        normals += fresh;
        nn_arcs += nn;
        arcs += nn + nd + dn + dd;
    }
    normals = warp_sum(normals);
    nn_arcs = warp_sum(nn_arcs);
    arcs = warp_sum(arcs);
}

// Look at the level that begins. Whole blocks call it; `nn_arcs` is 0 where nn is visited forward alone.
__device__ __forceinline__ void look_everywhere(const World& w, const Rank* own, u64 here_count, Ahead* known, Everywhere& all,
                                                const Factors& factors, u64 nn_arcs, u64 level) {
    if (warp_id() == 0) {
        read_counts(own, here_count, known, level, lane_id(), WARP);
        __syncwarp();
        u64 normals, nn_ahead, arcs;
        count_all(w, level, normals, nn_ahead, arcs);
        if (lane_id() == 0) {
            all.frontier = normals + known[0].counts[D_FRESH];
            all.nn_left -= nn_arcs ? nn_ahead : 0;
            // Who takes the smallest predecessor has to see all that find one.
            all.few = TREE != SMALLEST && !ENCODED && arcs <= factors.few;
            all.nn_backward = factors.optimized && nn_arcs && nn_ahead > all.nn_left && !all.few;
        }
        __syncwarp();
        for (u32 k = lane_id(); k < here_count; k += WARP) look_ahead(known[k], own[k], factors, all.nn_backward);
    }
    __syncthreads();
}

// What one block tells the others of levels that it went through alone.
struct Kept {
    u64 level;
    Everywhere all;
    Ahead known[MOST_HERE];
};
