// A lane's place in a row of delta-varint bytes, which it loads by aligned words of eight.

#include "kernels/layouts/varint.cuh"

struct Cursor {
    u64 at, end;   // bytes of the stream
    u64 window;    // what is left of the word at `at`, if that is not its first byte
    VERTEX value;  // the neighbour before
};

// The stream's array is a multiple of 16 bytes long, so that the word of a row's byte is inside it.
__device__ __forceinline__ u64 stream_word(const Rows& rows, u64 at) {
    return reinterpret_cast<const u64*>(rows.stream)[at >> 3] >> (at & 7) * 8;
}

__device__ __forceinline__ Cursor open_row(const Rows& rows, u64 v) {
    Cursor cursor{u64(rows.byte_offsets[v]), u64(rows.byte_offsets[v + 1]), 0, VERTEX(0)};
    if (cursor.at < cursor.end) cursor.window = stream_word(rows, cursor.at);
    return cursor;
}

__device__ __forceinline__ bool next_neighbour(const Rows& rows, Cursor& cursor, VERTEX& neighbour) {
    VERTEX gap = 0;
    u32 k = 0;
    while (cursor.at < cursor.end) {
        if (!(cursor.at & 7)) cursor.window = stream_word(rows, cursor.at);
        u32 byte = u32(cursor.window) & 255;
        cursor.window >>= 8;
        ++cursor.at;
        if (k < NUMBER_BYTES) gap += VERTEX(byte & 127) << 7 * k;
        ++k;
        if (byte >= 128) continue;
        cursor.value += gap;
        if (u64(cursor.value) < rows.bound) {
            neighbour = cursor.value;
            return true;
        }
        gap = 0;
        k = 0;
    }
    return false;
}
