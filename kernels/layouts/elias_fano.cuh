// Rows as Elias-Fano sequences (the format: kernels/layouts/elias_fano.py), 256 neighbours being a unit.

#include "kernels/layouts/bits.cuh"

#define ROWS_PARAMETERS_AS(name) const i64 *name##_byte_offsets, const u8 *name##_stream, u64 name##_bound
#define ROWS_ARGUMENTS_AS(name) name##_byte_offsets, name##_stream, name##_bound

constexpr u32 UNIT_ARCS = 256, SAMPLE_BITS = 32;
constexpr u64 SHORT_BYTES = UNIT_ARCS / 8;  // a row of more than a unit takes more: each neighbour a bit

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

// What stands before the low parts of a row that has bytes.
struct RowHeader {
    u64 degree;
    u32 width;    // of low parts
    u64 samples;  // bit of the stream
};

__device__ __forceinline__ RowHeader read_header(const u8* stream, u64 begin, u64 end) {
    u32 position;
    u64 bit = 8 * begin;
    Bits bits = bits_from(stream, bit, end, position);
    u32 inside = position;
    u64 degree = u64(read_code(bits, position)) + 1;
    u32 width = peek(bits, position) & ((1u << WIDTH_BITS) - 1);
    // More than a bit of the row for each would be damage.
    u64 most = 8 * (end - begin);
    return RowHeader{degree - 1 < most ? degree : most, width, bit + (position - inside) + WIDTH_BITS};
}

// Neighbours of row v, 0 to 8 times its bytes.
__device__ __forceinline__ u64 row_degree(const Rows& rows, u64 v) {
    u64 begin = u64(rows.byte_offsets[v]), end = u64(rows.byte_offsets[v + 1]);
    return begin < end ? read_header(rows.stream, begin, end).degree : 0;
}

__device__ __forceinline__ u64 row_units(const Rows& rows, u64 v) {
    u64 begin = u64(rows.byte_offsets[v]), end = u64(rows.byte_offsets[v + 1]);
    if (end - begin <= SHORT_BYTES) return end > begin;
    return (read_header(rows.stream, begin, end).degree - 1) / UNIT_ARCS + 1;
}

// The unit of a row whose header is known.
template <class Visit>
__device__ __forceinline__ bool visit_sequence(const u8* stream, u64 end, const RowHeader& header, u64 unit, u64 bound,
                                               Visit visit) {
    u64 others = (header.degree - 1) / UNIT_ARCS, left = header.degree - unit * UNIT_ARCS;
    u32 count = left < UNIT_ARCS ? u32(left) : UNIT_ARCS, width = header.width, inside;
    u64 at = 0;  // where the unit's high parts begin among those of the row
    if (unit) {
        Bits samples = bits_from(stream, header.samples + (unit - 1) * SAMPLE_BITS, end, inside);
        at = peek(samples, inside);
    }
    u64 low_bits = header.samples + others * SAMPLE_BITS;
    u32 low;
    Bits lows = bits_from(stream, low_bits + unit * UNIT_ARCS * width, end, low);
    u64 high_bits = low_bits + header.degree * width;
    VERTEX base = VERTEX(at - unit * UNIT_ARCS);
    u32 found = 0;
    // High parts may have long gaps: windows of 1024 bits, up to the last neighbour or the row's end.
    for (u64 bit = high_bits + at; found < count && bit < 8 * end; bit += 32 * WARP, base += 32 * WARP) {
        Bits bits = bits_from(stream, bit, end, inside);
        HighParts highs = read_highs(bits, inside);
        u32 ones = highs.ones();
        if (ones > count - found) ones = count - found;
        for (u32 step = 0; step < ones; step += WARP) {
            u32 mine = step + lane_id(), k = found + mine;
            VERTEX high = base + VERTEX(highs.place(mine)) - k;
            VERTEX neighbour = high << width | (mine < ones ? peek_vertex(lows, low + k * width, width) : VERTEX(0));
            if (!visit(neighbour, mine < ones && u64(neighbour) < bound)) return false;
        }
        found += ones;
    }
    return true;
}

template <class Visit>
__device__ __forceinline__ bool visit_unit(const Rows& rows, u64 v, u64 unit, Visit visit) {
    u64 begin = u64(rows.byte_offsets[v]), end = u64(rows.byte_offsets[v + 1]);
    return visit_sequence(rows.stream, end, read_header(rows.stream, begin, end), unit, rows.bound, visit);
}
