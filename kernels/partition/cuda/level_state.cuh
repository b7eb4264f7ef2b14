// What blocks know of a level before they visit it: counts of all ranks, directions, and which queues are there.

// docs/tuning.md has what supports the constants.

#include "kernels/cuda/atomics.cuh"
#include "kernels/partition/cuda/commit.cuh"
#include "kernels/partition/cuda/directions.cuh"
#include "kernels/partition/cuda/queues.cuh"

// Arcs of a frontier, none of which is visited backward, up to which what they find is listed as it is committed.
constexpr u64 LISTED_ARCS = 1 << 14;

// Of the normal vertices with delegates nearby one in so many may still be hidden, for what is found of them to be listed
// for nn: a frontier after a large one is small again. So it is where no visit is backward, since without a list all nn arcs
// are gone through.
constexpr u32 LISTED_SHARE = 8;

// Vertices that a block lists for nn at most, unless there is no way without a list: of more nn is visited backward, mostly.
constexpr u32 MAX_LISTED = 1 << 12;

// What all ranks know of a level.
struct Everywhere {
    u64 frontier, nn_left, delegates_left;  // its vertices; and vertices with nn arcs, and delegates, that are not seen
    bool nn_backward;
    bool no_delegates;  // on the frontier, nor any left
};

// What a block knows of a rank in a level.
struct Ahead {
    Local local;
    Forward forward;
    // Whether its queues are there, and those of the next level will be when that begins; of nn and of the others.
    bool nn_listed, listed, nn_lists, lists;
    bool sweeps;  // every normal vertex with nd arcs is reached: all delegates are seen, or on the frontier
    u64 counts[COUNTS];
};

__device__ __forceinline__ void look_ahead(Ahead& a, const Rank& r, const Factors& factors, const Everywhere& all) {
    auto count = [&](u32 place) { return a.counts[place]; };
    decide(a.local, count, factors);
    a.forward = forward_of(a.local, count);
    a.forward.nn &= !all.nn_backward;
    // Then nobody has to pull. Any predecessor is the expected one, which encoded rows do not have.
    a.sweeps = (!TREE || (TREE == ANY && !ENCODED)) && !all.delegates_left && a.local.backward >> DN & 1 && count(DN_ROWS) &&
               a.local.hidden[reverse_of(DN)];
    if (factors.optimized) {
        // Every arc has its reverse, and rows that are seen have nothing to find.
        a.forward.nd &= a.local.hidden[reverse_of(ND)] != 0;
        a.forward.dn &= a.local.hidden[reverse_of(DN)] != 0;
        a.forward.dd &= a.local.hidden[reverse_of(DD)] != 0;
    }
    a.nn_listed = a.nn_lists && !(count(NN_TAIL) & TOO_MANY);
    a.listed = a.lists;
    u64 arcs = count(ND_ARCS) + count(NN_ROWS) + count(DN_ARCS) + count(DD_ARCS);
    a.lists = !a.local.backward && arcs <= LISTED_ARCS;
    a.nn_lists = !r.nn_owners || !a.local.backward || LISTED_SHARE * a.local.hidden[ND] <= r.nd_source_count;
}

// Some threads of a block read the counts of the ranks here, in one go.
__device__ __forceinline__ void read_counts(const Rank* own, u32 here_count, Ahead* ahead, u64 level, u32 thread, u32 threads) {
#pragma unroll 1
    for (u32 i = thread; i < here_count * COUNTS; i += threads)
        ahead[i / COUNTS].counts[i % COUNTS] = load_relaxed(&own[i / COUNTS].counts[side_of(level) + i % COUNTS]);
}

// Of each rank what others read between two levels.
struct Afar {
    u32* found;
    const u64* counts;
};

// The first warp learns of a level: of the ranks here all counts, and of all ranks, in its first lane, the normal vertices
// on the frontier and those of them with nn arcs.
__device__ __forceinline__ void learn(const Rank* own, u32 here_count, const Afar* afar, u32 rank_count, Ahead* ahead, u64 level,
                                      u64& normals, u64& nn_rows) {
    u64 side = side_of(level);
    auto ask = [&](u32 from, u64& newly, u64& rows) {
        const u64* counts = afar[from].counts + side;
        newly = __ldcv(&counts[N_NEW]), rows = __ldcv(&counts[NN_ROWS]);
    };
    normals = nn_rows = 0;
    // Both are asked for at once: one after the other they are two trips.
    if (lane_id() < rank_count) ask(lane_id(), normals, nn_rows);
    read_counts(own, here_count, ahead, level, lane_id(), WARP);
#pragma unroll 1
    for (u32 from = lane_id() + WARP; from < rank_count; from += WARP) {
        u64 newly, rows;
        ask(from, newly, rows);
        normals += newly, nn_rows += rows;
    }
    if (rank_count > 1) normals = sum_counts(normals), nn_rows = sum_counts(nn_rows);
}
