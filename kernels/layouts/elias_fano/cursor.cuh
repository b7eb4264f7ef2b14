// A lane's place in the first unit of an Elias-Fano row (kernels/layouts/elias_fano/__init__.py).

#include "kernels/layouts/elias_fano/rows.cuh"

constexpr u64 LIGHT_WEIGHT = SHORT_BYTES;

struct Cursor {
    Bits bits;
    u32 next;   // neighbours read so far,
    u32 count;  // of so many in the unit
    u32 width;  // of low parts
    u32 lows;   // bit of the first low part
    u32 highs;  // of the high parts
    u32 at;     // where to look for the next high part's bit
};

__device__ __forceinline__ Cursor open_row(const Rows& rows, u64 v) {
    Cursor cursor{};
    u64 begin = u64(rows.byte_offsets[v]), end = u64(rows.byte_offsets[v + 1]);
    if (begin >= end) return cursor;
    RowHeader header = read_header(rows.stream, begin, end);
    Body body = find_body(rows.stream, end, header, 0);
    cursor.bits = body.bits;
    cursor.count = body.count;
    cursor.width = header.width;
    cursor.lows = body.lows;
    cursor.highs = cursor.at = body.highs;
    return cursor;
}

__device__ __forceinline__ void skip_neighbours(Cursor&, u64) {}

__device__ __forceinline__ bool next_neighbour(const Rows& rows, Cursor& cursor, VERTEX& neighbour) {
    while (cursor.next < cursor.count) {
        u32 k = cursor.next++;
        u32 word = peek(cursor.bits, cursor.at);
        while (!word && cursor.at / 32 < cursor.bits.count) word = peek(cursor.bits, cursor.at += 32);
        if (!word) return false;
        cursor.at += __ffs(i32(word));
        VERTEX high = VERTEX(cursor.at - 1 - cursor.highs - k);
        VERTEX read = high << cursor.width | peek_vertex(cursor.bits, cursor.lows + cursor.width * k, cursor.width);
        if (u64(read) < rows.bound) {
            neighbour = read;
            return true;
        }
    }
    return false;
}
