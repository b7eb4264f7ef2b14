// Rows as blocks of gaps (the format: kernels/layouts/blocks/__init__.py), a block of 256 neighbours being a unit.

#include "kernels/layouts/byte_rows.cuh"

constexpr u32 OFFSET_BITS = 32, ENTRY_BITS = OFFSET_BITS + VERTEX_BITS;

// What stands before the directory of a row that has bytes.
struct RowHeader {
    u64 gaps;    // neighbours - 1
    VERTEX first;  // neighbour
    u32 kind;    // of the first block: width of low parts, or BY_CLASS
    u64 behind;  // bit of the stream
};

__device__ __forceinline__ u32 kind_of(u32 head) { return head & 1 ? BY_CLASS : head >> 1 & ((1u << WIDTH_BITS) - 1); }

__device__ __forceinline__ u32 kind_bits(u32 kind) { return kind == BY_CLASS ? 1 : 1 + WIDTH_BITS; }

__device__ __forceinline__ RowHeader read_header(const u8* stream, u64 begin, u64 end, u64 v) {
    u32 position;
    Bits bits = bits_from(stream, 8 * begin, end, position);
    u32 head = peek(bits, position);
    u32 degree_class = head & 15, first_class = head >> CLASS_BITS & 15, behind = 2 * CLASS_BITS, kind = 0;
    if (degree_class) {
        kind = kind_of(head >> behind);
        behind += kind_bits(kind);
    }
    u32 width = class_width(degree_class);
    u64 gaps = degree_class <= LAST_EXACT ? head >> behind & ((1u << width) - 1) : u64(peek_vertex(bits, position + behind, width));
    gaps += class_base(degree_class);
    behind += width;
    width = class_width(first_class);
    VERTEX folded = VERTEX(class_base(first_class)) + peek_vertex(bits, position + behind, width);
    // More than a bit of the row for each would be damage.
    u64 most = 8 * (end - begin);
    return RowHeader{gaps < most ? gaps : most, unfold(folded, v), kind, 8 * begin + behind + width};
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

// Where the body of a unit is: `position` of `bits`.
struct Body {
    Bits bits;
    u32 position;
    u32 gaps;
    u32 kind;
    VERTEX first;
};

__device__ __forceinline__ Body find_body(const u8* stream, u64 begin, u64 end, const RowHeader& header, u64 unit) {
    u64 left = header.gaps - unit * UNIT_ARCS;
    Body body{{}, 0, left < UNIT_ARCS ? u32(left) : UNIT_ARCS - 1, header.kind, header.first};
    u64 bit = header.behind + header.gaps / UNIT_ARCS * ENTRY_BITS;
    if (unit) {
        u32 entry;
        Bits directory = bits_from(stream, header.behind + (unit - 1) * ENTRY_BITS, end, entry);
        bit = 8 * (begin + peek(directory, entry));
        body.first = peek_vertex(directory, entry + OFFSET_BITS, VERTEX_BITS);
    }
    // From the bit before, so that flags can be read from there: bit 0 of the first ones is the first neighbour's.
    body.bits = bits_from(stream, bit - 1, end, body.position);
    ++body.position;
    if (unit && body.gaps) {
        body.kind = kind_of(peek(body.bits, body.position));
        body.position += kind_bits(body.kind);
    }
    return body;
}

template <class Visit>
__device__ __forceinline__ bool visit_split(const Body& body, u64 bound, const Visit& visit) {
    u32 gaps = body.gaps, width = body.kind, lows = body.position;
    // All high parts of a block fit: there are at most three bits for each of 255.
    HighParts highs = read_highs(body.bits, lows + width * gaps);
    u32 ones = highs.ones();
    for (u32 step = 0; step <= gaps; step += WARP) {
        u32 k = step + lane_id() - 1;  // of lane 0 in the first step, the first neighbour's
        u32 high = highs.place(k) - k;
        VERTEX rest = VERTEX(high) << width | (k < gaps ? peek_vertex(body.bits, lows + width * k, width) : VERTEX(0));
        bool head = step + lane_id() == 0;
        VERTEX neighbour = head ? body.first : body.first + rest;
        if (!visit(neighbour, (head || (k < gaps && k < ones)) && u64(neighbour) < bound)) return false;
    }
    return true;
}

template <class Visit>
__device__ __forceinline__ bool visit_classes(const Body& body, u64 bound, const Visit& visit) {
    // Lane i holds the flags of step i, in which lane 0 of the first step is the first neighbour.
    u32 lane = lane_id(), begin = WARP * lane, gaps = body.gaps;
    u32 marks = begin <= gaps ? peek(body.bits, body.position - 1 + begin) : 0;
    if (lane == 0) marks &= ~1u;
    u32 count = begin <= gaps ? gaps - begin + 1 : 0;
    if (count < WARP) marks &= (1u << count) - 1;
    u32 upto = warp_inclusive_sum(u32(__popc(marks)));
    u32 classes = body.position + gaps;
    u32 offsets = classes + CLASS_BITS * __shfl_sync(ALL_LANES, upto, WARP - 1);
    VERTEX value = body.first;
    for (u32 step = 0; WARP * step <= gaps; ++step) {
        u32 flags = __shfl_sync(ALL_LANES, marks, step);
        u32 before = __shfl_sync(ALL_LANES, upto, step) - __popc(flags) + __popc(flags & lanes_below());
        bool marked = flags >> lane & 1;
        u32 number_class = marked ? peek(body.bits, classes + CLASS_BITS * before) & 15 : 0;
        u32 width = class_width(number_class);
        u32 behind = warp_inclusive_sum(width);
        u32 k = WARP * step + lane;
        VERTEX gap = k > 0;
        if (marked) gap = VERTEX(2) + VERTEX(class_base(number_class)) + peek_vertex(body.bits, offsets + behind - width, width);
        offsets += __shfl_sync(ALL_LANES, behind, WARP - 1);
        VERTEX sum = warp_inclusive_sum(gap);
        VERTEX neighbour = value + sum;
        value += __shfl_sync(ALL_LANES, sum, WARP - 1);
        if (!visit(neighbour, k <= gaps && u64(neighbour) < bound)) return false;
    }
    return true;
}

template <class Visit>
__device__ __forceinline__ bool visit_unit(const Rows& rows, u64 v, u64 unit, Visit visit) {
    u64 begin = u64(rows.byte_offsets[v]), end = u64(rows.byte_offsets[v + 1]);
    Body body = find_body(rows.stream, begin, end, read_header(rows.stream, begin, end, v), unit);
    if (!body.gaps) return visit(body.first, lane_id() == 0 && u64(body.first) < rows.bound);
    return body.kind == BY_CLASS ? visit_classes(body, rows.bound, visit) : visit_split(body, rows.bound, visit);
}

constexpr u32 LEAD = 1;  // the first neighbour of a unit has no parts

// A unit for each_chunk; each lane has its own.
__device__ __forceinline__ Plan plan_unit(const Rows& rows, u64 v, u64 unit) {
    u64 begin = u64(rows.byte_offsets[v]), end = u64(rows.byte_offsets[v + 1]);
    Body body = find_body(rows.stream, begin, end, read_header(rows.stream, begin, end, v), unit);
    u32 gaps = body.gaps, lows = body.position, highs = lows + body.kind * gaps;
    if (body.kind == BY_CLASS) {
        highs = lows + gaps;
        for (u32 k = 0; k < gaps; k += 32) {
            u32 flags = peek(body.bits, lows + k);
            highs += CLASS_BITS * __popc(gaps - k < 32 ? flags & ((1u << (gaps - k)) - 1) : flags);
        }
    }
    return Plan{body.bits, gaps + 1, body.kind, lows, highs, body.first, 0};
}

template <class Visit>
__device__ __forceinline__ void visit_units(const Rows& rows, u64 v, u64 unit, bool active, const Visit& visit) {
    visit_plans<LEAD>(active ? plan_unit(rows, v, unit) : no_plan(), rows.bound, visit);
}
