// Rows of delta-varint bytes (kernels/varint), read by warps, 32 bytes a step.
//
// A byte that is the k-th of its number adds (byte & 127) << 7k to it; a neighbour is the sum of all numbers
// up to its own, hence the sum of what all bytes up to its last one add. Sums wrap around; damaged bytes lead to
// wrong neighbours or none.
//
// Checkpoints cut rows longer than UNIT_BYTES where UNIT_BYTES divides the place in the stream: checkpoint c is
// the neighbour whose number ends last before byte c * UNIT_BYTES of the row that reaches over it. A
// number belongs to the unit that holds its last byte. Without checkpoints a row is one unit.

#include "kernels/cuda/types.cuh"

#define ROWS_PARAMETERS_AS(name) \
    const i64 *name##_byte_offsets, const u8 *name##_stream, const VERTEX *name##_checkpoints, u64 name##_bound
#define ROWS_ARGUMENTS_AS(name) name##_byte_offsets, name##_stream, name##_checkpoints, name##_bound

constexpr u64 UNIT_BYTES = 1024;  // kernels.layouts.varint.UNIT_BYTES: checkpoints add 0.4 % to 32-bit rows
constexpr u32 NUMBER_BYTES = sizeof(VERTEX) == 4 ? 5 : 10;

struct Rows {
    const i64* byte_offsets;
    const u8* stream;
    const VERTEX* checkpoints;  // null where there are none
    u64 bound;
};

__device__ __forceinline__ Rows make_rows(const i64* byte_offsets, const u8* stream, const VERTEX* checkpoints, u64 bound) {
    return Rows{byte_offsets, stream, checkpoints, bound};
}

// Bytes of row v.
__device__ __forceinline__ u64 row_weight(const Rows& rows, u64 v) {
    return u64(rows.byte_offsets[v + 1] - rows.byte_offsets[v]);
}

__device__ __forceinline__ u64 row_units(const Rows& rows, u64 v) {
    u64 begin = u64(rows.byte_offsets[v]), end = u64(rows.byte_offsets[v + 1]);
    if (end - begin <= UNIT_BYTES || !rows.checkpoints) return end > begin;
    return (end - 1) / UNIT_BYTES - begin / UNIT_BYTES + 1;
}

// What a warp knows between two steps: the sum of all bytes so far, and how many of them belong to a number that
// is not yet whole.
struct VarintState {
    VERTEX value;
    u32 open_bytes;
};

// Decode `count` <= 32 bytes, one a lane. A lane whose byte ends a number gets `last` and its neighbour.
__device__ __forceinline__ VERTEX varint_step(VarintState& state, u32 byte, u32 count, bool& last) {
    u32 lane = lane_id();
    bool mine = lane < count;
    last = mine && byte < 128;
    u32 ends = __ballot_sync(ALL_LANES, last);
    u32 below = ends & lanes_below();
    // Bytes of its number before this one.
    u32 k = below ? lane - (32 - __clz(i32(below))) : lane + state.open_bytes;
    VERTEX adds = mine && k < NUMBER_BYTES ? VERTEX(byte & 127) << (7 * k) : VERTEX(0);
    VERTEX upto = warp_inclusive_sum(adds);
    VERTEX neighbour = state.value + upto;
    state.value += __shfl_sync(ALL_LANES, upto, WARP - 1);
    u32 open = ends ? count - (32 - __clz(i32(ends))) : count + state.open_bytes;
    state.open_bytes = open < NUMBER_BYTES ? open : NUMBER_BYTES;
    return neighbour;
}

template <class Visit>
__device__ __forceinline__ bool visit_unit(const Rows& rows, u64 v, u64 unit, Visit visit) {
    u64 begin = u64(rows.byte_offsets[v]), end = u64(rows.byte_offsets[v + 1]);
    VarintState state{0, 0};
    if (rows.checkpoints && end - begin > UNIT_BYTES) {
        u64 cut = begin / UNIT_BYTES + unit;
        u64 first = cut * UNIT_BYTES, after = first + UNIT_BYTES;
        if (unit) {
            state.value = rows.checkpoints[cut];
            // The number at the cut may have begun before it.
            u32 back = lane_id() + 1;
            bool goes_on = back < NUMBER_BYTES && first - begin >= back && rows.stream[first - back] >= 128;
            begin = first - (__ffs(i32(~__ballot_sync(ALL_LANES, goes_on))) - 1);
        }
        if (after < end) end = after;
    }
    for (u64 step = begin; step < end; step += WARP) {
        u32 count = end - step < WARP ? u32(end - step) : WARP;
        u32 byte = lane_id() < count ? rows.stream[step + lane_id()] : 128;
        bool last;
        VERTEX neighbour = varint_step(state, byte, count, last);
        if (!visit(neighbour, last && u64(neighbour) < rows.bound)) return false;
    }
    return true;
}
