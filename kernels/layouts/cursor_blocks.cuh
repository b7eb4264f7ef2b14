// A lane's place in the first block of a row (kernels/layouts/blocks.py).

#include "kernels/layouts/blocks.cuh"

constexpr u64 LIGHT_WEIGHT = SHORT_BYTES;

struct Cursor {
    Bits bits;
    VERTEX value;  // the neighbour before; the first one where parts follow it
    u32 next;      // neighbours read so far,
    u32 count;     // of so many in the block
    u32 width;     // of low parts, or BY_CLASS
    u32 lows;      // bit of the first low part, or of the first flag
    u32 at;        // where to look for the next high part's bit, or the next class
    u32 offsets;   // and the next offset of a class
};

constexpr u32 BY_CLASS = 255;

__device__ __forceinline__ Cursor open_row(const Rows& rows, u64 v) {
    Cursor cursor{};
    u64 begin = u64(rows.byte_offsets[v]), end = u64(rows.byte_offsets[v + 1]);
    if (begin >= end) return cursor;
    RowHeader header = read_header(rows.stream, begin, end, v);
    u32 gaps = header.gaps < UNIT_ARCS ? u32(header.gaps) : UNIT_ARCS - 1, position;
    cursor.bits = bits_from(rows.stream, header.directory + header.gaps / UNIT_ARCS * ENTRY_BITS, end, position);
    cursor.value = header.first;
    cursor.count = gaps + 1;
    if (!gaps) return cursor;
    u32 word = peek(cursor.bits, position++);
    if (word & 1) {
        cursor.width = BY_CLASS;
        cursor.lows = position;
        u32 marked = 0;
        for (u32 k = 0; k < gaps; k += 32) {
            u32 flags = peek(cursor.bits, position + k);
            marked += __popc(gaps - k < 32 ? flags & ((1u << (gaps - k)) - 1) : flags);
        }
        cursor.at = position + gaps;
        cursor.offsets = cursor.at + CLASS_BITS * marked;
    } else {
        cursor.width = word >> 1 & ((1u << WIDTH_BITS) - 1);
        cursor.lows = position + WIDTH_BITS;
        cursor.at = cursor.lows + cursor.width * gaps;
    }
    return cursor;
}

// The neighbour behind those read so far, not the first.
__device__ __forceinline__ VERTEX decode_next(Cursor& cursor) {
    const Bits& bits = cursor.bits;
    u32 k = cursor.next - 1;
    if (cursor.width == BY_CLASS) {
        VERTEX gap = 1;
        if (peek(bits, cursor.lows + k) & 1) {
            u32 number_class = peek(bits, cursor.at) & 15, width = class_width(number_class);
            gap = VERTEX(2) + VERTEX(class_base(number_class)) + peek_vertex(bits, cursor.offsets, width);
            cursor.at += CLASS_BITS;
            cursor.offsets += width;
        }
        return cursor.value += gap;
    }
    u32 word = peek(bits, cursor.at);
    while (!word && cursor.at / 32 < bits.count) word = peek(bits, cursor.at += 32);
    cursor.at += word ? __ffs(i32(word)) : 0;
    u32 highs = cursor.lows + cursor.width * (cursor.count - 1);
    VERTEX high = VERTEX(cursor.at - 1 - highs - k);
    return cursor.value + (high << cursor.width | peek_vertex(bits, cursor.lows + cursor.width * k, cursor.width));
}

__device__ __forceinline__ bool next_neighbour(const Rows& rows, Cursor& cursor, VERTEX& neighbour) {
    while (cursor.next < cursor.count) {
        VERTEX read = cursor.next ? decode_next(cursor) : cursor.value;
        ++cursor.next;
        if (u64(read) < rows.bound) {
            neighbour = read;
            return true;
        }
    }
    return false;
}
