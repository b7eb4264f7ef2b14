// Writes rows as Elias-Fano sequences (the format: kernels/layouts/elias_fano/__init__.py): sizes, then bits.
//
// Contract: columns VERTEX, none of a row without neighbours; row_bytes i64 (rows) starts at 0; byte_offsets are their
// exclusive sums; words are zeroed. `largest` is the largest vertex that there may be.
//
// variants VERTEX: u32 u64

#include "kernels/layouts/bits.cuh"
#include "kernels/layouts/units.cuh"

constexpr u32 UNIT_ARCS = 256, SAMPLE_BITS = 32;

__device__ __forceinline__ u32 low_width(const VERTEX* columns, i64 begin, i64 end, u64 largest) {
    u64 last = u64(columns[end - 1]);
    return floor_log2((last > largest ? last : largest) / u64(end - begin));
}

extern "C" __global__ void measure_rows(DEAL_PARAMETERS, const VERTEX* columns, u64 largest, i64* row_bytes, u64* faults) {
    each_unit(Deal{DEAL_ARGUMENTS}, UNIT_ARCS, [&](u64 row, u64 unit, i64 begin, u32 count) {
        i64 row_begin = deal_row_offsets[row], row_end = deal_row_offsets[row + 1];
        for (i64 arc = begin + lane_id(); arc < begin + i64(count); arc += WARP)
            if (arc > row_begin && columns[arc] < columns[arc - 1]) report(faults, row, DESCENDS);
        if (unit || lane_id()) return;
        u32 width = low_width(columns, row_begin, row_end, largest);
        u64 degree = u64(row_end - row_begin), highs = degree + (u64(columns[row_end - 1]) >> width);
        u64 bits = code_width(degree - 1) + WIDTH_BITS + degree * width + highs + (degree - 1) / UNIT_ARCS * SAMPLE_BITS;
        if (bits > (1ull << 32) - 64) report(faults, row, BROKEN);
        row_bytes[row] = i64((bits + 7) / 8);
    });
}

extern "C" __global__ void write_rows(DEAL_PARAMETERS, const VERTEX* columns, u64 largest, const i64* byte_offsets, u32* words) {
    each_unit(Deal{DEAL_ARGUMENTS}, UNIT_ARCS, [&](u64 row, u64 unit, i64 begin, u32 count) {
        i64 row_begin = deal_row_offsets[row], row_end = deal_row_offsets[row + 1];
        u64 degree = u64(row_end - row_begin), start = 8 * u64(byte_offsets[row]);
        u32 width = low_width(columns, row_begin, row_end, largest);
        u64 samples = start + code_width(degree - 1) + WIDTH_BITS;  // behind the header
        u64 lows = samples + (degree - 1) / UNIT_ARCS * SAMPLE_BITS, highs = lows + degree * width;
        if (lane_id() == 0) {
            if (unit) {
                u64 at = (u64(columns[begin - 1]) >> width) + u64(begin - row_begin);
                put_bits(words, samples + (unit - 1) * SAMPLE_BITS, at, SAMPLE_BITS);
            } else {
                put_bits(words, start, class_of(degree - 1) | width << CLASS_BITS, CLASS_BITS + WIDTH_BITS);
                put_offset(words, start + CLASS_BITS + WIDTH_BITS, degree - 1);
            }
        }
        for (u32 i = lane_id(); i < count; i += WARP) {
            u64 k = u64(begin - row_begin) + i, value = u64(columns[begin + i]);
            put_bits(words, lows + k * width, value, width);
            put_bits(words, highs + (value >> width) + k, 1, 1);
        }
    });
}
