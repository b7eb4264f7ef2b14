// Rounds of merging clusters, with the results of kernels/order/community_tree.py.
//
// Contract: a graph of clusters has row_offsets i64 (members + 1), columns VERTEX (arcs), weights WEIGHT (arcs)
// or null for ones, volumes i64 (members). Rows need not be sorted. Gains are a product, a quotient and a
// difference in double precision, each rounded once, so that they are the CPU's. Warps take rows of up to
// `long_row` arcs, blocks the others, listed in `long_rows`. Any block that is a multiple of 32 up to 1024.
// Paper: Arai et al., Rabbit Order, IPDPS 2016, section III.
//
// variants VERTEX: u32 u64
// variants WEIGHT: u32 u64

#include "kernels/generate/counter.cuh"

constexpr u64 NONE = ~0ull;

struct Choice {
    double gain;
    u64 hash, member;
};

__device__ __forceinline__ bool better(const Choice& one, const Choice& other) {
    return one.gain > other.gain || (one.gain == other.gain && one.hash > other.hash);
}

__device__ __forceinline__ Choice best_of_warp(Choice mine) {
    for (u32 step = WARP / 2; step; step /= 2) {
        Choice other = {__shfl_xor_sync(ALL_LANES, mine.gain, step), __shfl_xor_sync(ALL_LANES, mine.hash, step),
                        __shfl_xor_sync(ALL_LANES, mine.member, step)};
        if (better(other, mine)) mine = other;
    }
    return mine;
}

__device__ __forceinline__ Choice scan_row(const i64* row_offsets, const VERTEX* columns, const WEIGHT* weights,
                                           const i64* volumes, double total, u64 of_round, u64 member, u32 first,
                                           u32 step) {
    Choice best = {0.0, 0, NONE};
    double volume = double(volumes[member]);
    for (i64 i = row_offsets[member] + first; i < row_offsets[member + 1]; i += step) {
        u64 other = columns[i];
        if (other == member) continue;
        double weight = weights ? double(weights[i]) : 1.0;
        double gain = __dsub_rn(weight, __ddiv_rn(__dmul_rn(volume, double(volumes[other])), total));
        if (gain <= 0.0 || gain < best.gain) continue;
        Choice found = {gain, mix(of_round + other * STEP), other};
        if (better(found, best)) best = found;
    }
    return best;
}

__device__ __forceinline__ VERTEX parent_of(const Choice& best, u64 member, const i64* volumes, u64 of_round) {
    if (best.member == NONE) return VERTEX(member);
    i64 mine = volumes[member], other = volumes[best.member];
    bool merges = other > mine || (other == mine && best.hash > mix(of_round + member * STEP));
    return VERTEX(merges ? best.member : member);
}

// parent[v] = the cluster that v would merge into, v itself for none.
extern "C" __global__ void choose(const i64* row_offsets, const VERTEX* columns, const WEIGHT* weights,
                                  const i64* volumes, double total, u64 of_round, u64 members, i64 long_row,
                                  const i64* long_rows, u64 long_count, VERTEX* parent) {
    __shared__ Choice of_warps[WARP];
    for (u64 member = global_thread() / WARP; member < members; member += global_threads() / WARP) {
        if (row_offsets[member + 1] - row_offsets[member] > long_row) continue;
        Choice best = best_of_warp(
            scan_row(row_offsets, columns, weights, volumes, total, of_round, member, lane_id(), WARP));
        if (lane_id() == 0) parent[member] = parent_of(best, member, volumes, of_round);
    }
    for (u64 i = blockIdx.x; i < long_count; i += gridDim.x) {
        u64 member = u64(long_rows[i]);
        Choice best = best_of_warp(
            scan_row(row_offsets, columns, weights, volumes, total, of_round, member, threadIdx.x, blockDim.x));
        if (lane_id() == 0) of_warps[warp_id()] = best;
        __syncthreads();
        if (warp_id() == 0) {
            best = best_of_warp(lane_id() < blockDim.x / WARP ? of_warps[lane_id()] : Choice{0.0, 0, NONE});
            if (lane_id() == 0) parent[member] = parent_of(best, member, volumes, of_round);
        }
        __syncthreads();
    }
}

// Members an odd number of choices from the end of their path merge into the next one. root[v] is the member
// that v is merged into, smallest[root] (all ones before) the smallest one merged into it.
extern "C" __global__ void merge(const VERTEX* parent, u64 members, VERTEX* root, u64* smallest) {
    for (u64 member = global_thread(); member < members; member += global_threads()) {
        u64 at = member;
        u32 odd = 0;
        for (u64 next = parent[at]; next != at; next = parent[at]) at = next, odd ^= 1;
        u64 mine = odd ? parent[member] : member;
        root[member] = VERTEX(mine);
        atomicMin(&smallest[mine], member);
    }
}

// starts[v] = 1 where v is the smallest of its cluster.
extern "C" __global__ void mark_smallest(const VERTEX* root, const u64* smallest, u64 members, VERTEX* starts) {
    for (u64 member = global_thread(); member < members; member += global_threads())
        starts[member] = smallest[root[member]] == member;
}

// cluster[v] from the inclusive sums of `starts`.
extern "C" __global__ void name_clusters(const VERTEX* root, const u64* smallest, const VERTEX* sums, u64 members,
                                         VERTEX* cluster) {
    for (u64 member = global_thread(); member < members; member += global_threads())
        cluster[member] = sums[smallest[root[member]]] - 1;
}

// sums[cluster[v]] += values[v]; sums start at zero.
extern "C" __global__ void add_up(const i64* values, const VERTEX* cluster, u64 members, u64* sums) {
    for (u64 member = global_thread(); member < members; member += global_threads())
        atomicAdd(&sums[cluster[member]], u64(values[member]));
}

// Below, `own` has the cluster of each row, which is `cluster` itself where rows are those of all members.

// Arcs of each row that lead to another cluster (`within` 0) or stay in it (1).
extern "C" __global__ void count_arcs(const i64* row_offsets, const VERTEX* columns, const VERTEX* own,
                                      const VERTEX* cluster, u64 members, u32 within, i64* counts) {
    for (u64 member = global_thread() / WARP; member < members; member += global_threads() / WARP) {
        VERTEX mine = own[member];
        i64 count = 0;
        for (i64 i = row_offsets[member] + lane_id(); i < row_offsets[member + 1]; i += WARP)
            count += (cluster[columns[i]] == mine) == within;
        count = warp_sum(count);
        if (lane_id() == 0) counts[member] = count;
    }
}

// The arcs that were counted, in their order, from places[row] on: as keys (cluster - first << bits | cluster), or
// as columns.
template <class Write>
__device__ __forceinline__ void each_arc(const i64* row_offsets, const VERTEX* columns, const VERTEX* own,
                                         const VERTEX* cluster, u64 members, u32 within, const i64* places, Write write) {
    for (u64 member = global_thread() / WARP; member < members; member += global_threads() / WARP) {
        VERTEX mine = own[member];
        i64 place = places[member];
        for (i64 tile = row_offsets[member]; tile < row_offsets[member + 1]; tile += WARP) {
            i64 i = tile + lane_id();
            bool inside = i < row_offsets[member + 1];
            VERTEX column = inside ? columns[i] : 0;
            VERTEX other = inside ? cluster[column] : 0;
            bool selected = inside && (other == mine) == within;
            u32 lanes = __ballot_sync(ALL_LANES, selected);
            if (selected) write(place + __popc(lanes & lanes_below()), mine, other, column);
            place += __popc(lanes);
        }
    }
}

extern "C" __global__ void cluster_keys(const i64* row_offsets, const VERTEX* columns, const VERTEX* own,
                                        const VERTEX* cluster, u64 members, u64 first, const i64* places, u32 bits,
                                        u64* keys) {
    each_arc(row_offsets, columns, own, cluster, members, 0, places,
             [&](i64 place, VERTEX mine, VERTEX other, VERTEX) { keys[place] = (u64(mine) - first) << bits | other; });
}

extern "C" __global__ void arcs_within(const i64* row_offsets, const VERTEX* columns, const VERTEX* own,
                                       const VERTEX* cluster, u64 members, const i64* places, VERTEX* kept) {
    each_arc(row_offsets, columns, own, cluster, members, 1, places,
             [&](i64 place, VERTEX, VERTEX, VERTEX column) { kept[place] = column; });
}

// Add the weight of each arc to that of its clusters, found by bisection in their sorted row, of which the first is
// that of cluster `base`. new_weights start at zero.
extern "C" __global__ void add_weights(const i64* row_offsets, const VERTEX* columns, const WEIGHT* weights,
                                       const VERTEX* own, const VERTEX* cluster, u64 members, u64 base,
                                       const i64* new_offsets, const VERTEX* new_columns, WEIGHT* new_weights) {
    for (u64 member = global_thread() / WARP; member < members; member += global_threads() / WARP) {
        VERTEX mine = own[member];
        i64 first = new_offsets[mine - base], last = new_offsets[mine - base + 1] - 1;
        for (i64 i = row_offsets[member] + lane_id(); i < row_offsets[member + 1]; i += WARP) {
            VERTEX other = cluster[columns[i]];
            if (other == mine) continue;
            i64 low = first, high = last;
            while (low < high) {
                i64 middle = (low + high) / 2;
                if (new_columns[middle] < other) low = middle + 1;
                else high = middle;
            }
            atomicAdd(&new_weights[low], weights ? weights[i] : WEIGHT(1));
        }
    }
}

// start[cluster] = the smallest place of its vertices; start is all ones before.
extern "C" __global__ void first_places(const VERTEX* cluster, const VERTEX* places, u64 vertices, u64* start) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) atomicMin(&start[cluster[v]], u64(places[v]));
}
