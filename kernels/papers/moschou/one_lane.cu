// Top-down search of varint rows, each decoded by one lane of a warp (Moschou, section 2.3): the search of
// direction_optimizing_encoded.cu, whose rows are not cut into units.

#define DECODE_ENTRIES decode_by_one_lane

#include "kernels/bfs/cuda/sources/pull_encoded.cuh"
#include "kernels/bfs/cuda/sources/decoded.cuh"

// Lane 0 decodes a row, 32 neighbours at a time, of which then each lane takes one.
template <class List, class Use>
__device__ __forceinline__ void decode_row(const Rows& rows, List& decoded, u64 v, u32 from, const Use& use) {
    Cursor cursor = open_row(rows, v);
    for (bool more = true; more;) {
        VERTEX mine = VERTEX(0);
        u32 count = 0;
        for (; count < WARP; ++count) {
            VERTEX neighbour = VERTEX(0);
            u32 found = lane_id() == 0 && next_neighbour(rows, cursor, neighbour);
            if (!__shfl_sync(ALL_LANES, found, 0)) break;
            neighbour = __shfl_sync(ALL_LANES, neighbour, 0);
            if (lane_id() == count) mine = neighbour;
        }
        decoded.add(mine, lane_id() < count, from);
        more = count == WARP;
        if (decoded.count + WARP > LISTED) use();
    }
}

// As decode_entries of decoded.cuh; every entry is a whole row.
template <class List, class Use>
__device__ __forceinline__ void decode_by_one_lane(const Rows& rows, List& decoded, bool valid, VERTEX owner, u64,
                                                   const Use& use) {
    for (u32 left = __ballot_sync(ALL_LANES, valid); left; left &= left - 1) {
        u32 from = __ffs(left) - 1;
        decode_row(rows, decoded, __shfl_sync(ALL_LANES, owner, from), from, use);
    }
    use();
}

#include "kernels/bfs/cuda/direction_optimizing_encoded.cu"
// variants LAYOUT: varint
