// What the kernels of Cuthill-McKee's order share.
//
// A search labels the vertices of its levels base, base + 1, ...; labels below `base` are of earlier searches. A
// numbering claims them: claim[v] is one more than the place, in the queue, of the first vertex that has v for a
// neighbour; 0 of a start, NONE of what is not found yet. So the vertices that a level finds are those whose claims
// are above its first place.

#include "kernels/cuda/types.cuh"

constexpr VERTEX NONE = VERTEX(~VERTEX(0));

// What a level finds: vertices, their arcs, the longest of their rows, and the most that one parent claims.
struct Tally {
    u64 found, arcs, longest, kids;
};

__device__ __forceinline__ u64 warp_max(u64 value) {
    for (u32 step = WARP / 2; step; step /= 2) {
        u64 other = __shfl_xor_sync(ALL_LANES, value, step);
        value = other > value ? other : value;
    }
    return value;
}

// The arcs of rows that a thread has found, and the longest of them.
struct Rows {
    u64 arcs = 0, longest = 0;
    __device__ __forceinline__ void add(const i64* row_offsets, u64 vertex) {
        u64 degree = u64(row_offsets[vertex + 1] - row_offsets[vertex]);
        arcs += degree;
        longest = degree > longest ? degree : longest;
    }
};

// Add up the rows that the lanes of a warp have found.
__device__ __forceinline__ void add_rows(Tally* tally, const Rows& rows) {
    u64 arcs = warp_sum(rows.arcs), longest = warp_max(rows.longest);
    if (lane_id() == 0 && arcs) {
        atomicAdd(&tally->arcs, arcs);
        atomicMax(&tally->longest, longest);
    }
}
