// Rows of delta-varint bytes (kernels/layouts/varint), read by warps, 32 bytes a step. Damaged bytes lead to wrong
// neighbours or none.
//
// Checkpoints cut rows longer than UNIT_BYTES where UNIT_BYTES divides the place in the stream: checkpoint c is
// the neighbour whose number ends last before byte c * UNIT_BYTES of the row that reaches over it. A row's first unit
// goes on to the second such place, so that it is never short. A number belongs to the unit that holds its last
// byte. Without checkpoints a row is one unit.

#include "kernels/layouts/chunks.cuh"
#include "kernels/layouts/varint/step.cuh"

#define ROWS_PARAMETERS_AS(name) \
    const i64 *name##_byte_offsets, const u8 *name##_stream, const VERTEX *name##_checkpoints, u64 name##_bound
#define ROWS_ARGUMENTS_AS(name) name##_byte_offsets, name##_stream, name##_checkpoints, name##_bound

constexpr u64 UNIT_BYTES = 256;  // gravel.kernels.layouts.varint.UNIT_BYTES: checkpoints add 1.6 % to the bytes of 32-bit rows
constexpr u32 MAX_IN_UNIT = 2 * UNIT_BYTES;  // a byte each at least, in up to two stretches of a row
constexpr bool RANDOM_ACCESS = false;

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
    return (end - 1) / UNIT_BYTES - begin / UNIT_BYTES;
}

// Bytes of a unit, those of a number that began before it included, and the neighbour before.
struct Piece {
    u64 begin, end;
    VERTEX before;
};

// The unit of a long row; each lane may have its own.
__device__ __forceinline__ Piece find_piece(const Rows& rows, u64 v, u64 unit) {
    Piece piece{u64(rows.byte_offsets[v]), u64(rows.byte_offsets[v + 1]), 0};
    if (!rows.checkpoints || piece.end - piece.begin <= UNIT_BYTES) return piece;
    u64 cut = piece.begin / UNIT_BYTES + 1 + unit, first = cut * UNIT_BYTES;
    if (first + UNIT_BYTES < piece.end) piece.end = first + UNIT_BYTES;
    if (!unit) return piece;
    piece.before = rows.checkpoints[cut];
    u64 row_begin = piece.begin;
    piece.begin = first;
    for (u32 back = 1; back < NUMBER_BYTES && first - row_begin >= back && rows.stream[first - back] >= 128; ++back)
        piece.begin = first - back;
    return piece;
}

template <class Visit>
__device__ __forceinline__ bool visit_unit(const Rows& rows, u64 v, u64 unit, Visit visit) {
    Piece piece = find_piece(rows, v, unit);
    u64 end = piece.end;
    VarintState state{piece.before, 0};
    u32 lane = lane_id(), byte = piece.begin + lane < end ? rows.stream[piece.begin + lane] : 0;
    for (u64 step = piece.begin; step < end; step += WARP) {
        u64 after = step + WARP + lane;
        u32 following = after < end ? rows.stream[after] : 0;  // under way while this step is decoded
        VarintStep found = varint_step(state, byte, end - step < WARP ? u32(end - step) : WARP);
        byte = following;
        if (!visit(found.neighbour, (found.ends >> lane & 1) && u64(found.neighbour) < rows.bound)) return false;
    }
    return true;
}

// The bytes of all lanes' units are dealt out to all lanes; sums begin anew where a unit does.
template <class Visit>
__device__ __forceinline__ void visit_units(const Rows& rows, u64 v, u64 unit, bool active, const Visit& visit) {
    Piece piece{0, 0, 0};
    if (active) piece = find_piece(rows, v, unit);
    u64 bytes = piece.end - piece.begin;
    // Without checkpoints a row may be of any length; the warp reads such a row by itself.
    u32 alone = __ballot_sync(ALL_LANES, bytes > 2 * UNIT_BYTES);
    u32 own = bytes > 2 * UNIT_BYTES ? 0 : u32(bytes), upto = warp_inclusive_sum(own), lane = lane_id();
    u32 total = __shfl_sync(ALL_LANES, upto, WARP - 1), open = 0;
    VERTEX carry = 0;
    for (u32 round = 0; round < total; round += WARP) {
        u32 item = round + lane, from = owner_of(upto, item);
        u32 i = item - (__shfl_sync(ALL_LANES, upto, from) - __shfl_sync(ALL_LANES, own, from));
        u64 place = __shfl_sync(ALL_LANES, piece.begin, from) + i;
        VERTEX before = __shfl_sync(ALL_LANES, piece.before, from);
        bool mine = item < total;
        u32 byte = mine ? rows.stream[place] : 128;
        bool last = mine && byte < 128;
        i32 head = i <= lane ? i32(lane - i) : -1;
        u32 ends = __ballot_sync(ALL_LANES, last);
        u32 below = ends & lanes_below() & (head < 0 ? ALL_LANES : ~((1u << head) - 1));
        u32 k = below ? lane - (32 - __clz(i32(below))) : head < 0 ? lane + open : i;
        VERTEX adds = mine && k < NUMBER_BYTES ? VERTEX(byte & 127) << (7 * k) : VERTEX(0);
        VERTEX neighbour = before + sum_before(adds, head, carry) + adds;
        open = __shfl_sync(ALL_LANES, last ? 0 : k < NUMBER_BYTES ? k + 1 : NUMBER_BYTES, WARP - 1);
        visit(from, neighbour, last && u64(neighbour) < rows.bound);
    }
    for (; alone; alone &= alone - 1) {
        u32 from = __ffs(i32(alone)) - 1;
        visit_unit(rows, __shfl_sync(ALL_LANES, v, from), __shfl_sync(ALL_LANES, unit, from), [&](VERTEX neighbour, bool valid) {
            visit(from, neighbour, valid);
            return true;
        });
    }
}
