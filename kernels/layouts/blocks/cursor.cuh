// A lane's place in the first block of a row (kernels/layouts/blocks/__init__.py).

#include "kernels/layouts/blocks/rows.cuh"

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

__device__ __forceinline__ Cursor open_row(const Rows& rows, u64 v) {
    Cursor cursor{};
    u64 begin = u64(rows.byte_offsets[v]), end = u64(rows.byte_offsets[v + 1]);
    if (begin >= end) return cursor;
    Body body = find_body(rows.stream, begin, end, read_header(rows.stream, begin, end, v), 0);
    cursor.bits = body.bits;
    cursor.value = body.first;
    cursor.count = body.gaps + 1;
    cursor.width = body.kind;
    cursor.lows = body.position;
    cursor.at = body.position + body.gaps * body.kind;
    if (body.kind == BY_CLASS) {
        u32 marked = 0;
        for (u32 k = 0; k < body.gaps; k += 32) {
            u32 flags = peek(body.bits, body.position + k);
            marked += __popc(body.gaps - k < 32 ? flags & ((1u << (body.gaps - k)) - 1) : flags);
        }
        cursor.at = body.position + body.gaps;
        cursor.offsets = cursor.at + CLASS_BITS * marked;
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

__device__ __forceinline__ void skip_neighbours(Cursor&, u64) {}

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
