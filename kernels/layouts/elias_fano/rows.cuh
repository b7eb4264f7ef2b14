// Rows as Elias-Fano sequences (the format: kernels/layouts/elias_fano/__init__.py), 256 neighbours being a unit.

#include "kernels/layouts/byte_rows.cuh"

constexpr u32 SAMPLE_BITS = 32;

// What stands before the low parts of a row that has bytes.
struct RowHeader {
    u64 degree;
    u32 width;    // of low parts
    u64 samples;  // bit of the stream
};

__device__ __forceinline__ RowHeader read_header(const u8* stream, u64 begin, u64 end) {
    u32 position;
    Bits bits = bits_from(stream, 8 * begin, end, position);
    u32 head = peek(bits, position);
    u32 degree_class = head & 15, width = head >> CLASS_BITS & ((1u << WIDTH_BITS) - 1);
    u32 behind = CLASS_BITS + WIDTH_BITS, offset = class_width(degree_class);
    u64 degree = degree_class <= LAST_EXACT ? head >> behind & ((1u << offset) - 1)
                                            : u64(peek_vertex(bits, position + behind, offset));
    degree += u64(class_base(degree_class)) + 1;
    // More than a bit of the row for each would be damage.
    u64 most = 8 * (end - begin);
    return RowHeader{degree - 1 < most ? degree : most, width, 8 * begin + behind + offset};
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

// Where the parts of a unit are. A row has fewer than 2^32 bits, or is damaged.
struct Body {
    Bits bits;  // of the row, from its samples on
    u32 count;
    u32 lows;   // of the unit
    u32 highs;  // of the unit
    VERTEX base;  // what all its high parts lack
};

__device__ __forceinline__ Body find_body(const u8* stream, u64 end, const RowHeader& header, u64 unit) {
    u64 others = (header.degree - 1) / UNIT_ARCS, left = header.degree - unit * UNIT_ARCS;
    Body body;
    u32 position, at = 0;  // where the unit's high parts begin among those of the row
    body.bits = bits_from(stream, header.samples, end, position);
    if (unit) at = peek(body.bits, position + u32(unit - 1) * SAMPLE_BITS);
    u32 lows = position + u32(others) * SAMPLE_BITS;
    body.count = left < UNIT_ARCS ? u32(left) : UNIT_ARCS;
    body.lows = lows + u32(unit) * UNIT_ARCS * header.width;
    body.highs = lows + u32(header.degree) * header.width + at;
    body.base = VERTEX(u64(at) - unit * UNIT_ARCS);
    return body;
}

template <class Visit>
__device__ __forceinline__ bool visit_unit(const Rows& rows, u64 v, u64 unit, Visit visit) {
    u64 begin = u64(rows.byte_offsets[v]), end = u64(rows.byte_offsets[v + 1]);
    RowHeader header = read_header(rows.stream, begin, end);
    Body body = find_body(rows.stream, end, header, unit);
    u32 width = header.width, found = 0;
    VERTEX base = body.base;
    // High parts may have long gaps: windows of 1024 bits, up to the last neighbour or the row's end.
    for (u64 bit = body.highs; found < body.count && bit / 32 < body.bits.count; bit += 32 * WARP, base += 32 * WARP) {
        HighParts highs = read_highs(body.bits, u32(bit));
        u32 ones = highs.ones();
        if (ones > body.count - found) ones = body.count - found;
        for (u32 step = 0; step < ones; step += WARP) {
            u32 mine = step + lane_id(), k = found + mine;
            VERTEX high = base + VERTEX(highs.place(mine)) - k;
            VERTEX neighbour = high << width | (mine < ones ? peek_vertex(body.bits, body.lows + k * width, width) : VERTEX(0));
            if (!visit(neighbour, mine < ones && u64(neighbour) < rows.bound)) return false;
        }
        found += ones;
    }
    return true;
}

constexpr u32 LEAD = 0;  // all neighbours have parts

// A unit for each_chunk; each lane has its own.
__device__ __forceinline__ Plan plan_unit(const Rows& rows, u64 v, u64 unit) {
    u64 begin = u64(rows.byte_offsets[v]), end = u64(rows.byte_offsets[v + 1]);
    RowHeader header = read_header(rows.stream, begin, end);
    Body body = find_body(rows.stream, end, header, unit);
    return Plan{body.bits, body.count, header.width, body.lows, body.highs, 0, body.base};
}

template <class Visit>
__device__ __forceinline__ void visit_units(const Rows& rows, u64 v, u64 unit, bool active, const Visit& visit) {
    visit_plans<LEAD>(active ? plan_unit(rows, v, unit) : no_plan(), rows.bound, visit);
}
