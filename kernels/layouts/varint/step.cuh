// How a warp decodes delta-varint bytes, 32 a step (kernels/layouts/varint has the format).
//
// A byte that is the k-th of its number adds (byte & 127) << 7k to it; a neighbour is the sum of all numbers
// up to its own, hence the sum of what all bytes up to its last one add. Sums are of the vertex's width and wrap.

#include "kernels/cuda/types.cuh"

constexpr u32 NUMBER_BYTES = sizeof(VERTEX) == 4 ? 5 : 10;

// What a warp knows between two steps: the sum of all bytes so far, and how many of them belong to a number that
// is not yet whole.
struct VarintState {
    VERTEX value;
    u32 open_bytes;
};

struct VarintStep {
    VERTEX neighbour;  // where the lane's byte ends a number
    u32 ends;          // lanes whose bytes do
    bool too_long;     // the lane's byte is behind the last that a number can have
    bool too_large;    // or holds bits that a vertex has not
};

// Decode `count` <= 32 bytes, one a lane.
__device__ __forceinline__ VarintStep varint_step(VarintState& state, u32 byte, u32 count) {
    u32 lane = lane_id();
    bool mine = lane < count;
    u32 ends = __ballot_sync(ALL_LANES, mine && byte < 128);
    u32 below = ends & lanes_below(), payload = byte & 127;
    // Bytes of its number before this one.
    u32 k = below ? lane - (32 - __clz(i32(below))) : lane + state.open_bytes;
    bool too_long = mine && k >= NUMBER_BYTES;
    bool too_large = mine && k == NUMBER_BYTES - 1 && payload >> (8 * sizeof(VERTEX) - 7 * k);
    VERTEX adds = mine && !too_long ? VERTEX(payload) << (7 * k) : VERTEX(0);
    VERTEX upto = warp_inclusive_sum(adds);
    VERTEX neighbour = state.value + upto;
    state.value = __shfl_sync(ALL_LANES, neighbour, WARP - 1);
    u32 open = ends ? count - (32 - __clz(i32(ends))) : count + state.open_bytes;
    state.open_bytes = open < NUMBER_BYTES ? open : NUMBER_BYTES;
    return VarintStep{neighbour, ends, too_long, too_large};
}
