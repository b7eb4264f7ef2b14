// Rows as blocks of gaps (the format: kernels/layouts/blocks.py), a block of 256 neighbours being a unit.

#include "kernels/layouts/bits.cuh"

#define ROWS_PARAMETERS_AS(name) const i64 *name##_byte_offsets, const u8 *name##_stream, u64 name##_bound
#define ROWS_ARGUMENTS_AS(name) name##_byte_offsets, name##_stream, name##_bound

constexpr u32 UNIT_ARCS = 256, OFFSET_BITS = 32, ENTRY_BITS = OFFSET_BITS + VERTEX_BITS;
constexpr u64 SHORT_BYTES = UNIT_ARCS / 8;  // a row of more than a block takes more: each neighbour but the first a bit

struct Rows {
    const i64* byte_offsets;
    const u8* stream;
    u64 bound;
};

__device__ __forceinline__ Rows make_rows(const i64* byte_offsets, const u8* stream, u64 bound) {
    return Rows{byte_offsets, stream, bound};
}

// Bytes of row v.
__device__ __forceinline__ u64 row_weight(const Rows& rows, u64 v) {
    return u64(rows.byte_offsets[v + 1] - rows.byte_offsets[v]);
}

// What stands before the blocks of a row that has bytes.
struct RowHeader {
    u64 gaps;       // neighbours - 1
    VERTEX first;   // neighbour
    u64 directory;  // bit of the stream
};

__device__ __forceinline__ RowHeader read_header(const u8* stream, u64 begin, u64 end, u64 v) {
    u32 position;
    u64 bit = 8 * begin;
    Bits bits = bits_from(stream, bit, end, position);
    u32 inside = position;
    u64 gaps = read_code(bits, position);
    VERTEX first = unfold(read_code(bits, position), v);
    // More than a bit of the row for each would be damage.
    u64 most = 8 * (end - begin);
    return RowHeader{gaps < most ? gaps : most, first, bit + (position - inside)};
}

// Neighbours of row v, 0 to 8 times its bytes.
__device__ __forceinline__ u64 row_degree(const Rows& rows, u64 v) {
    u64 begin = u64(rows.byte_offsets[v]), end = u64(rows.byte_offsets[v + 1]);
    return begin < end ? read_header(rows.stream, begin, end, v).gaps + 1 : 0;
}

__device__ __forceinline__ u64 row_units(const Rows& rows, u64 v) {
    u64 begin = u64(rows.byte_offsets[v]), end = u64(rows.byte_offsets[v + 1]);
    if (end - begin <= SHORT_BYTES) return end > begin;
    return read_header(rows.stream, begin, end, v).gaps / UNIT_ARCS + 1;
}

// `gaps` neighbours behind `first` in high and low parts; the string's width of low parts is at `position`.
template <class Visit>
__device__ __forceinline__ bool visit_split(const Bits& bits, u32 position, u32 gaps, VERTEX first, u64 bound, Visit visit) {
    u32 width = peek(bits, position) & ((1u << WIDTH_BITS) - 1);
    u32 lows = position + WIDTH_BITS;
    // All high parts of a block fit: there are at most three bits for each of 255.
    HighParts highs = read_highs(bits, lows + width * gaps);
    u32 ones = highs.ones();
    for (u32 step = 0; step <= gaps; step += WARP) {
        u32 k = step + lane_id() - 1;  // of lane 0 in the first step, the first neighbour's
        u32 high = highs.place(k) - k;
        VERTEX rest = VERTEX(high) << width | (k < gaps ? peek_vertex(bits, lows + width * k, width) : VERTEX(0));
        bool head = step + lane_id() == 0;
        VERTEX neighbour = head ? first : first + rest;
        if (!visit(neighbour, (head || (k < gaps && k < ones)) && u64(neighbour) < bound)) return false;
    }
    return true;
}

// `gaps` neighbours behind `first` as gaps by class; the string's flags are at `position`.
template <class Visit>
__device__ __forceinline__ bool visit_classes(const Bits& bits, u32 position, u32 gaps, VERTEX first, u64 bound, Visit visit) {
    // Lane i holds the flags of step i, in which lane 0 of the first step is the first neighbour.
    u32 lane = lane_id(), begin = WARP * lane;
    u32 marks = begin <= gaps ? peek(bits, position - 1 + begin) : 0;
    if (lane == 0) marks &= ~1u;
    u32 count = begin <= gaps ? gaps - begin + 1 : 0;
    if (count < WARP) marks &= (1u << count) - 1;
    u32 upto = warp_inclusive_sum(u32(__popc(marks)));
    u32 classes = position + gaps;
    u32 offsets = classes + CLASS_BITS * __shfl_sync(ALL_LANES, upto, WARP - 1);
    VERTEX value = first;
    for (u32 step = 0; WARP * step <= gaps; ++step) {
        u32 flags = __shfl_sync(ALL_LANES, marks, step);
        u32 before = __shfl_sync(ALL_LANES, upto, step) - __popc(flags) + __popc(flags & lanes_below());
        bool marked = flags >> lane & 1;
        u32 number_class = marked ? peek(bits, classes + CLASS_BITS * before) & 15 : 0;
        u32 width = class_width(number_class);
        u32 behind = warp_inclusive_sum(width);
        u32 k = WARP * step + lane;
        VERTEX gap = k > 0;
        if (marked) gap = VERTEX(2) + VERTEX(class_base(number_class)) + peek_vertex(bits, offsets + behind - width, width);
        offsets += __shfl_sync(ALL_LANES, behind, WARP - 1);
        VERTEX sum = warp_inclusive_sum(gap);
        VERTEX neighbour = value + sum;
        value += __shfl_sync(ALL_LANES, sum, WARP - 1);
        if (!visit(neighbour, k <= gaps && u64(neighbour) < bound)) return false;
    }
    return true;
}

// The unit of a row whose header is known.
template <class Visit>
__device__ __forceinline__ bool visit_block(const u8* stream, u64 begin, u64 end, const RowHeader& header, u64 unit, u64 bound,
                                            Visit visit) {
    u64 others = header.gaps / UNIT_ARCS, left = header.gaps - unit * UNIT_ARCS;
    u32 gaps = left < UNIT_ARCS ? u32(left) : UNIT_ARCS - 1;
    VERTEX first = header.first;
    u64 bit = header.directory + others * ENTRY_BITS;
    if (unit) {
        u32 entry;
        Bits directory = bits_from(stream, header.directory + (unit - 1) * ENTRY_BITS, end, entry);
        bit = 8 * (begin + peek(directory, entry));
        first = peek_vertex(directory, entry + OFFSET_BITS, VERTEX_BITS);
    }
    if (!gaps) return visit(first, lane_id() == 0 && u64(first) < bound);
    u32 position;
    Bits bits = bits_from(stream, bit, end, position);
    bool by_class = peek(bits, position) & 1;
    return by_class ? visit_classes(bits, position + 1, gaps, first, bound, visit)
                    : visit_split(bits, position + 1, gaps, first, bound, visit);
}

template <class Visit>
__device__ __forceinline__ bool visit_unit(const Rows& rows, u64 v, u64 unit, Visit visit) {
    u64 begin = u64(rows.byte_offsets[v]), end = u64(rows.byte_offsets[v + 1]);
    return visit_block(rows.stream, begin, end, read_header(rows.stream, begin, end, v), unit, rows.bound, visit);
}
