// Deals rows of up to UNIT_ARCS neighbours, and the units of longer ones, to warps.

#include "kernels/cuda/types.cuh"

// Rows in order; the longer ones are listed, with the exclusive sums of their numbers of units.
struct Deal {
    const i64* row_offsets;
    u64 rows;
    const i64* long_rows;
    const i64* long_units;  // (long_count + 1)
    u64 long_count;
};

#define DEAL_PARAMETERS \
    const i64 *deal_row_offsets, u64 deal_rows, const i64 *deal_long_rows, const i64 *deal_long_units, u64 deal_long_count
#define DEAL_ARGUMENTS deal_row_offsets, deal_rows, deal_long_rows, deal_long_units, deal_long_count

// Row and unit of one of all units of long rows.
__device__ __forceinline__ u64 long_unit(const Deal& deal, u64 item, u64& unit) {
    u64 low = 0, high = deal.long_count;  // the last row whose units begin at `item` or before
    while (high - low > 1) {
        u64 middle = (low + high) / 2;
        (u64(deal.long_units[middle]) <= item ? low : high) = middle;
    }
    unit = item - u64(deal.long_units[low]);
    return u64(deal.long_rows[low]);
}

// Call work(row, unit, first arc, number of arcs) with each unit that has arcs, a warp per unit.
template <class Work>
__device__ __forceinline__ void each_unit(const Deal& deal, u64 unit_arcs, const Work& work) {
    u64 warps = global_threads() / WARP, warp = global_thread() / WARP;
    for (u64 row = warp; row < deal.rows; row += warps) {
        i64 begin = deal.row_offsets[row];
        u64 degree = u64(deal.row_offsets[row + 1] - begin);
        if (degree && degree <= unit_arcs) work(row, u64(0), begin, u32(degree));
    }
    u64 units = deal.long_count ? u64(deal.long_units[deal.long_count]) : 0;
    for (u64 i = warp; i < units; i += warps) {
        u64 unit, row = long_unit(deal, i, unit);
        i64 begin = deal.row_offsets[row] + i64(unit * unit_arcs);
        u64 left = u64(deal.row_offsets[row + 1] - begin);
        work(row, unit, begin, u32(left < unit_arcs ? left : unit_arcs));
    }
}

constexpr u32 DESCENDS = 1, BROKEN = 2, OUT_OF_RANGE = 3;  // gravel.kernels.layouts.streams

// Keep the least row that does not fit, and why; `faults` starts with all bits set.
__device__ __forceinline__ void report(u64* faults, u64 row, u32 reason) { atomicMin(faults, row << 2 | reason); }

// Or the `width` <= 64 lowest bits of `value` into zeroed words.
__device__ __forceinline__ void put_bits(u32* words, u64 bit, u64 value, u32 width) {
    if (width < 64) value &= (1ull << width) - 1;
    u32* word = words + bit / 32;
    u32 inside = u32(bit) & 31;
    u32 low = u32(value << inside);
    if (low) atomicOr(word, low);
    u64 rest = value >> (32 - inside);
    if (u32(rest)) atomicOr(word + 1, u32(rest));
    if (rest >> 32) atomicOr(word + 2, u32(rest >> 32));
}

__device__ __forceinline__ u32 floor_log2(u64 value) { return value ? 63 - __clzll(i64(value)) : 0; }

__device__ __forceinline__ u32 class_of(u64 number) {
    if (number < WIDE_BASE) return floor_log2(number + 1);
    return number < LAST_BASE ? 14 : 15;
}

__device__ __forceinline__ u32 code_width(u64 number) { return CLASS_BITS + class_width(class_of(number)); }

__device__ __forceinline__ u64 put_offset(u32* words, u64 bit, u64 number) {
    u32 found = class_of(number), width = class_width(found);
    put_bits(words, bit, number - class_base(found), width);
    return bit + width;
}
