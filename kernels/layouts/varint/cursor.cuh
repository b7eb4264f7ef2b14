// A lane's place in a row of delta-varint bytes, which it loads by aligned words of eight.

#include "kernels/layouts/varint/rows.cuh"

constexpr u64 LIGHT_WEIGHT = 64;  // bytes: two steps of a warp

struct Cursor {
    u64 at, end;    // bytes of the stream
    u64 low, high;  // the word of byte `at`, and the one after it
    VERTEX value;   // the neighbour before
};

// The stream's array is a multiple of 16 bytes long, so that the word of a row's byte is inside it.
__device__ __forceinline__ u64 stream_word(const Rows& rows, u64 word, u64 end) {
    return 8 * word < end ? reinterpret_cast<const u64*>(rows.stream)[word] : 0;
}

__device__ __forceinline__ Cursor open_row(const Rows& rows, u64 v) {
    Cursor cursor{u64(rows.byte_offsets[v]), u64(rows.byte_offsets[v + 1]), 0, 0, VERTEX(0)};
    u64 word = cursor.at / 8;
    if (cursor.at < cursor.end) cursor.low = stream_word(rows, word, cursor.end);
    if (cursor.at < cursor.end) cursor.high = stream_word(rows, word + 1, cursor.end);
    return cursor;
}

// The first number of eight bytes, of at most five; `bytes` is 9 where no byte ends it.
__device__ __forceinline__ u32 first_number(u64 window, u32& bytes) {
    u64 ends = ~window & 0x8080808080808080ull;
    bytes = ends ? u32(__ffsll(i64(ends))) / 8 : 9;
    u64 kept = window & (bytes >= 8 ? ~0ull : (1ull << 8 * bytes) - 1);
    u32 low = u32(kept), high = u32(kept >> 32);
    return (low & 0x7f) | (low >> 1 & 0x3f80) | (low >> 2 & 0x1fc000) | (low >> 3 & 0xfe00000) | high << 28;
}

// Move `bytes` <= 8 on.
__device__ __forceinline__ void advance(const Rows& rows, Cursor& cursor, u32 bytes) {
    u64 word = cursor.at / 8;
    cursor.at += bytes;
    if (cursor.at / 8 == word) return;
    cursor.low = cursor.high;
    cursor.high = stream_word(rows, word + 2, cursor.end);
}

__device__ __forceinline__ void skip_neighbours(Cursor&, u64) {}

__device__ __forceinline__ bool next_neighbour(const Rows& rows, Cursor& cursor, VERTEX& neighbour) {
    while (cursor.at < cursor.end) {
        VERTEX gap = 0;
        bool whole = true;
        if (sizeof(VERTEX) == 4) {
            u32 inside = u32(cursor.at & 7) * 8, bytes;
            u64 window = inside ? cursor.low >> inside | cursor.high << (64 - inside) : cursor.low;
            gap = VERTEX(first_number(window, bytes));
            whole = bytes <= NUMBER_BYTES && bytes <= cursor.end - cursor.at;
            // What is no number has no neighbour behind it either.
            if (!whole) bytes = 8;
            advance(rows, cursor, bytes);
        } else {
            bool open = true;
            for (u32 k = 0; open && cursor.at < cursor.end; ++k) {
                u32 byte = u32(cursor.low >> (cursor.at & 7) * 8) & 255;
                if (k < NUMBER_BYTES) gap += VERTEX(byte & 127) << 7 * k;
                advance(rows, cursor, 1);
                open = byte >= 128;
            }
            whole = !open;
        }
        cursor.value += gap;
        if (whole && u64(cursor.value) < rows.bound) {
            neighbour = cursor.value;
            return true;
        }
    }
    return false;
}
