// Writes rows as blocks of gaps (the format: kernels/layouts/blocks/__init__.py): sizes, then bits.
//
// Contract: columns VERTEX; block_first i64 (rows) the row's first block among all. `measure_rows` sets block_bytes i64 and
// checks that rows ascend; first_kinds u8 (rows) says 1 where the first block has gaps by class. `write_rows` takes the
// exclusive sums of the bytes, block_places, and zeroed words.
//
// variants VERTEX: u32 u64

#include "kernels/layouts/bits.cuh"
#include "kernels/layouts/units.cuh"

constexpr u32 UNIT_ARCS = 256, OFFSET_BITS = 32, ENTRY_BITS = OFFSET_BITS + VERTEX_BITS;

struct Block {
    u64 bits;   // with its kind
    u32 width;  // of low parts
    bool by_class;
};

// How a block is best written; all lanes call it, and descends is set in lanes whose neighbour is too small.
__device__ __forceinline__ Block measure_block(const VERTEX* columns, i64 begin, u32 count, bool& descends) {
    u32 gaps = count - 1, own_bits = 0;
    bool repeats = false;
    for (u32 k = lane_id(); k < gaps; k += WARP) {
        VERTEX before = columns[begin + k], value = columns[begin + k + 1];
        descends |= value < before;
        VERTEX gap = value - before;
        repeats |= gap == 0;
        if (gap > 1) own_bits += code_width(u64(gap) - 2);
    }
    if (!gaps) return Block{0, 0, false};
    u64 by_class = gaps + warp_sum(own_bits);
    u64 span = u64(VERTEX(columns[begin + gaps] - columns[begin]));
    u32 width = floor_log2(span / gaps);
    u64 split = WIDTH_BITS + u64(gaps) * (width + 1) + (span >> width);
    bool use_split = __any_sync(ALL_LANES, repeats) || split <= by_class;
    return Block{1 + (use_split ? split : by_class), width, !use_split};
}

__device__ __forceinline__ u64 header_bits(u64 gaps, VERTEX folded) {
    return code_width(gaps) + code_width(u64(folded));
}

extern "C" __global__ void measure_rows(DEAL_PARAMETERS, const VERTEX* columns, u64 first_row, const i64* block_first,
                                   i64* block_bytes, u8* first_kinds, u64* faults) {
    each_unit(Deal{DEAL_ARGUMENTS}, UNIT_ARCS, [&](u64 row, u64 unit, i64 begin, u32 count) {
        bool descends = unit && columns[begin] < columns[begin - 1];
        Block block = measure_block(columns, begin, count, descends);
        u64 bits = block.bits;
        if (descends) report(faults, row, DESCENDS);
        if (!unit) {
            if (lane_id() == 0) first_kinds[row] = block.by_class;
            u64 gaps = u64(deal_row_offsets[row + 1] - begin) - 1;
            bits += header_bits(gaps, fold(columns[begin], first_row + row)) + gaps / UNIT_ARCS * ENTRY_BITS;
        }
        if (lane_id() == 0) block_bytes[block_first[row] + i64(unit)] = i64((bits + 7) / 8);
    });
}

__device__ __forceinline__ void write_split(u32* words, u64 bit, const VERTEX* columns, i64 begin, u32 gaps, u32 width) {
    u64 lows = bit, highs = lows + u64(width) * gaps;
    VERTEX first = columns[begin];
    for (u32 k = lane_id(); k < gaps; k += WARP) {
        u64 rest = u64(VERTEX(columns[begin + 1 + k] - first));
        put_bits(words, lows + u64(width) * k, rest, width);
        put_bits(words, highs + (rest >> width) + k, 1, 1);
    }
}

__device__ __forceinline__ void write_classes(u32* words, u64 bit, const VERTEX* columns, i64 begin, u32 gaps) {
    u64 classes = bit + gaps, marked = 0;
    for (u32 step = 0; step < gaps; step += WARP) {
        u32 k = step + lane_id();
        bool mark = k < gaps && VERTEX(columns[begin + k + 1] - columns[begin + k]) > 1;
        u32 marks = __ballot_sync(ALL_LANES, mark);
        if (lane_id() == 0) put_bits(words, bit + step, marks, WARP);
        marked += __popc(marks);
    }
    u64 offsets = classes + CLASS_BITS * marked;
    for (u32 step = 0; step < gaps; step += WARP) {
        u32 k = step + lane_id();
        VERTEX gap = k < gaps ? VERTEX(columns[begin + k + 1] - columns[begin + k]) : VERTEX(0);
        bool mark = gap > 1;
        u64 number = mark ? u64(gap) - 2 : 0;
        u32 found = class_of(number), width = mark ? class_width(found) : 0;
        u32 marks = __ballot_sync(ALL_LANES, mark), upto = warp_inclusive_sum(width);
        if (mark) {
            put_bits(words, classes + CLASS_BITS * __popc(marks & lanes_below()), found, CLASS_BITS);
            put_bits(words, offsets + upto - width, number - class_base(found), width);
        }
        classes += CLASS_BITS * __popc(marks);
        offsets += __shfl_sync(ALL_LANES, upto, WARP - 1);
    }
}

extern "C" __global__ void write_rows(DEAL_PARAMETERS, const VERTEX* columns, u64 first_row, const i64* block_first,
                                      const i64* block_places, const u8* first_kinds, u32* words) {
    each_unit(Deal{DEAL_ARGUMENTS}, UNIT_ARCS, [&](u64 row, u64 unit, i64 begin, u32 count) {
        u64 start = u64(block_places[block_first[row]]), place = u64(block_places[block_first[row] + i64(unit)]);
        i64 row_begin = deal_row_offsets[row];
        u64 gaps = u64(deal_row_offsets[row + 1] - row_begin) - 1;
        VERTEX folded = fold(columns[row_begin], first_row + row);
        bool descends = false;
        Block block = measure_block(columns, begin, count, descends);
        u64 bit = 8 * place + (unit ? 0 : 2 * CLASS_BITS), kind_bits = count == 1 ? 0 : block.by_class ? 1 : 1 + WIDTH_BITS;
        if (lane_id() == 0) {
            put_bits(words, bit, block.by_class ? 1 : u64(block.width) << 1, u32(kind_bits));
            if (unit) {
                u64 entry = 8 * start + header_bits(gaps, folded) + (first_kinds[row] ? 1 : 1 + WIDTH_BITS);
                entry += (unit - 1) * ENTRY_BITS;
                put_bits(words, entry, place - start, OFFSET_BITS);
                put_bits(words, entry + OFFSET_BITS, u64(columns[begin]), VERTEX_BITS);
            } else {
                put_bits(words, 8 * start, class_of(gaps) | class_of(u64(folded)) << CLASS_BITS, 2 * CLASS_BITS);
                put_offset(words, put_offset(words, bit + kind_bits, gaps), u64(folded));
            }
        }
        bit += kind_bits;
        if (!unit) bit += class_width(class_of(gaps)) + class_width(class_of(u64(folded))) + gaps / UNIT_ARCS * ENTRY_BITS;
        if (count == 1) return;
        if (block.by_class)
            write_classes(words, bit, columns, begin, count - 1);
        else
            write_split(words, bit, columns, begin, count - 1, block.width);
    });
}
