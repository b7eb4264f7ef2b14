// How a warp decodes queue entries of encoded rows into a list in shared memory.
//
// Light rows are decoded by a lane each, 32 side by side; other units by a warp each. Where a warp has only a few
// light rows it decodes those too as a whole, since a lane alone takes as many steps as the row has neighbours.
// What is decoded goes to a list and is used from there, so that all lanes have work, whatever the layout left them,
// and several look-ups of a lane overlap.

#include "kernels/bfs/cuda/sources/encoded.cuh"

constexpr u32 SIDE_BY_SIDE = 4;  // light rows from which lanes read them
// Decoded neighbours that a warp lists: those of a unit, and what was there before. cuda/kernel_rows.py reserves as
// much.
constexpr u32 LISTED = MAX_IN_UNIT + 64;

// A warp's list of decoded neighbours, each with the lane that holds the vertex whose row it is from if NAMES_LANES.
template <bool NAMES_LANES>
struct DecodedList {
    VERTEX* vertices;
    u8* from;
    u32 count = 0;

    __device__ __forceinline__ explicit DecodedList(u64* arena) {
        u32 warps = blockDim.x / WARP;
        vertices = reinterpret_cast<VERTEX*>(arena) + warp_id() * LISTED;
        from = reinterpret_cast<u8*>(reinterpret_cast<VERTEX*>(arena) + warps * LISTED) + warp_id() * LISTED;
    }

    // Add one neighbour of each lane that has one; all lanes call it.
    __device__ __forceinline__ void add(VERTEX neighbour, bool valid, u32 lane) {
        u32 lanes = __ballot_sync(ALL_LANES, valid);
        u32 place = count + __popc(lanes & lanes_below());
        if (valid && place < LISTED) {
            vertices[place] = neighbour;
            if (NAMES_LANES) from[place] = u8(lane);
        }
        count += __popc(lanes);
    }

    // Empty the list; gives how many it held.
    __device__ __forceinline__ u32 take() {
        u32 listed = count < LISTED ? count : LISTED;
        count = 0;
        return listed;
    }
};

// Decode unit `unit` of row `owner`, or all of it for WHOLE_ROW, of each lane that has a valid entry; all lanes call
// it. `use()` is called where the list is full, and at the end.
template <class List, class Use>
__device__ __forceinline__ void decode_entries(const Rows& rows, List& decoded, bool valid, VERTEX owner, u64 unit,
                                               const Use& use) {
    bool light = valid && unit == WHOLE_ROW;
    bool alone = __popc(__ballot_sync(ALL_LANES, light)) >= SIDE_BY_SIDE;
    if (light) unit = 0;
    bool more = light && alone;
    u32 whole = __ballot_sync(ALL_LANES, valid && !more);
    Cursor cursor{};
    if (more) cursor = open_row(rows, owner);
    // One loop, so that there is one place where neighbours are used.
#pragma unroll 1
    while (whole || alone) {
        if (whole) {
            u32 from = __ffs(whole) - 1;
            whole &= whole - 1;
            visit_unit(rows, __shfl_sync(ALL_LANES, owner, from), __shfl_sync(ALL_LANES, unit, from),
                       [&](VERTEX neighbour, bool there) {
                           decoded.add(neighbour, there, from);
                           return true;
                       });
        } else {
            do {
                VERTEX neighbour = VERTEX(0);
                more = more && next_neighbour(rows, cursor, neighbour);
                decoded.add(neighbour, more, lane_id());
                alone = __any_sync(ALL_LANES, more);
            } while (alone && decoded.count + WARP <= LISTED);
        }
        if (decoded.count > LISTED - MAX_IN_UNIT || !(whole || alone)) use();
    }
}
