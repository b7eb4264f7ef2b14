// Rows of delta-varint bytes (kernels/varint), read by warps, 32 bytes a step. Damaged bytes lead to wrong
// neighbours or none.
//
// Checkpoints cut rows longer than UNIT_BYTES where UNIT_BYTES divides the place in the stream: checkpoint c is
// the neighbour whose number ends last before byte c * UNIT_BYTES of the row that reaches over it. A
// number belongs to the unit that holds its last byte. Without checkpoints a row is one unit.

#include "kernels/varint/step.cuh"

#define ROWS_PARAMETERS_AS(name) \
    const i64 *name##_byte_offsets, const u8 *name##_stream, const VERTEX *name##_checkpoints, u64 name##_bound
#define ROWS_ARGUMENTS_AS(name) name##_byte_offsets, name##_stream, name##_checkpoints, name##_bound

constexpr u64 UNIT_BYTES = 256;  // kernels.layouts.varint.UNIT_BYTES: checkpoints add 1.6 % to the bytes of 32-bit rows

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
    u32 lane = lane_id(), byte = begin + lane < end ? rows.stream[begin + lane] : 0;
    for (u64 step = begin; step < end; step += WARP) {
        u64 after = step + WARP + lane;
        u32 following = after < end ? rows.stream[after] : 0;  // under way while this step is decoded
        VarintStep found = varint_step(state, byte, end - step < WARP ? u32(end - step) : WARP);
        byte = following;
        if (!visit(found.neighbour, (found.ends >> lane & 1) && u64(found.neighbour) < rows.bound)) return false;
    }
    return true;
}
