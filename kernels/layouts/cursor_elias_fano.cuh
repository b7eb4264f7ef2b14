// A lane's place in the first unit of an Elias-Fano row (kernels/layouts/elias_fano.py).

#include "kernels/layouts/elias_fano.cuh"

constexpr u64 LIGHT_WEIGHT = SHORT_BYTES;

struct Cursor {
    Bits lows, highs;
    u32 next;         // neighbours read so far,
    u32 count;        // of so many in the unit
    u32 width;        // of low parts
    u32 low;          // bit of the first low part in `lows`,
    u32 high;         // and of the high parts in `highs`
    u32 at;           // where to look there for the next high part's bit
};

__device__ __forceinline__ Cursor open_row(const Rows& rows, u64 v) {
    Cursor cursor{};
    u64 begin = u64(rows.byte_offsets[v]), end = u64(rows.byte_offsets[v + 1]);
    if (begin >= end) return cursor;
    RowHeader header = read_header(rows.stream, begin, end);
    u64 lows = header.samples + (header.degree - 1) / UNIT_ARCS * SAMPLE_BITS;
    cursor.lows = bits_from(rows.stream, lows, end, cursor.low);
    cursor.highs = bits_from(rows.stream, lows + header.degree * header.width, end, cursor.high);
    cursor.count = header.degree < UNIT_ARCS ? u32(header.degree) : UNIT_ARCS;
    cursor.width = header.width;
    cursor.at = cursor.high;
    return cursor;
}

__device__ __forceinline__ bool next_neighbour(const Rows& rows, Cursor& cursor, VERTEX& neighbour) {
    while (cursor.next < cursor.count) {
        u32 k = cursor.next++;
        u32 word = peek(cursor.highs, cursor.at);
        while (!word && cursor.at / 32 < cursor.highs.count) word = peek(cursor.highs, cursor.at += 32);
        if (!word) return false;
        cursor.at += __ffs(i32(word));
        VERTEX high = VERTEX(cursor.at - 1 - cursor.high - k);
        VERTEX read = high << cursor.width | peek_vertex(cursor.lows, cursor.low + cursor.width * k, cursor.width);
        if (u64(read) < rows.bound) {
            neighbour = read;
            return true;
        }
    }
    return false;
}
