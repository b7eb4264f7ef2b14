// Bit strings (kernels/layouts/bits.py) in aligned 32-bit words, the lowest bit of a word first.
//
// Every load is guarded by the string's end, so that no position, however it came about, leads beyond it.

#include "kernels/cuda/types.cuh"

constexpr u32 VERTEX_BITS = 8 * sizeof(VERTEX);
constexpr u32 CLASS_BITS = 4, LAST_EXACT = 13, WIDE_BITS = 18;
constexpr u32 WIDE_BASE = (1u << (LAST_EXACT + 1)) - 1, LAST_BASE = WIDE_BASE + (1u << WIDE_BITS);
constexpr u32 WIDTH_BITS = sizeof(VERTEX) == 4 ? 5 : 6;

struct Bits {
    const u32* words;
    u32 count;
};

// The string from a bit of `stream` on, up to a byte of it; `inside` is where that bit is in the first word.
__device__ __forceinline__ Bits bits_from(const u8* stream, u64 bit, u64 end_byte, u32& inside) {
    u64 word = bit / 32, end = (end_byte + 3) / 4;
    inside = u32(bit) & 31;
    u64 count = end > word ? end - word : 0;
    return Bits{reinterpret_cast<const u32*>(stream) + word, count < 0xffffffffu ? u32(count) : 0xffffffffu};
}

// The 32 bits from `position` on; 0 for words beyond the end.
__device__ __forceinline__ u32 peek(const Bits& bits, u32 position) {
    u32 word = position / 32;
    u32 low = word < bits.count ? bits.words[word] : 0;
    u32 high = word + 1 < bits.count ? bits.words[word + 1] : 0;
    return __funnelshift_r(low, high, position & 31);
}

// The `width` <= VERTEX_BITS bits from `position` on.
__device__ __forceinline__ VERTEX peek_vertex(const Bits& bits, u32 position, u32 width) {
    if (sizeof(VERTEX) == 8 && width > 32) {
        u64 value = u64(peek(bits, position + 32)) << 32 | peek(bits, position);
        return VERTEX(width < 64 ? value & ((1ull << width) - 1) : value);
    }
    u32 value = peek(bits, position);
    return VERTEX(width < 32 ? value & ((1u << width) - 1) : value);
}

__device__ __forceinline__ u32 class_width(u32 number_class) {
    return number_class <= LAST_EXACT ? number_class : number_class == 14 ? WIDE_BITS : VERTEX_BITS;
}

__device__ __forceinline__ u32 class_base(u32 number_class) {
    return number_class <= 14 ? (1u << number_class) - 1 : LAST_BASE;
}

// What `row` + a folded difference is.
__device__ __forceinline__ VERTEX unfold(VERTEX number, u64 row) {
    return VERTEX(row) + (number >> 1 ^ (VERTEX(0) - (number & 1)));
}

__device__ __forceinline__ VERTEX fold(VERTEX value, u64 row) {
    VERTEX difference = value - VERTEX(row);
    return VERTEX(difference << 1) ^ (VERTEX(0) - (difference >> (VERTEX_BITS - 1)));
}

// Position of the set bit of `word` that has `rank` set ones below it; some position if there is none.
__device__ __forceinline__ u32 select_bit(u32 word, u32 rank) {
    u32 position = 0;
#pragma unroll
    for (u32 step = 16; step; step /= 2) {
        u32 below = __popc(word & ((1u << step) - 1));
        bool above = rank >= below;
        rank -= above ? below : 0;
        word >>= above ? step : 0;
        position += above ? step : 0;
    }
    return position;
}

// The lane of a warp in whose part of a total an item lies, `upto` being the inclusive sums of all parts; lane 31 for
// items behind the total. All lanes call it.
__device__ __forceinline__ u32 owner_of(u32 upto, u32 item) {
    u32 from = 0;
#pragma unroll
    for (u32 step = WARP / 2; step; step /= 2)
        if (__shfl_sync(ALL_LANES, upto, from + step - 1) <= item) from += step;
    return from;
}

// 1024 bits that a warp searches for set ones, a word a lane.
struct HighParts {
    u32 word;
    u32 upto;  // set ones in the words of this lane and those below it

    __device__ __forceinline__ u32 ones() const { return __shfl_sync(ALL_LANES, upto, WARP - 1); }

    // Where the one with `rank` below it stands; all lanes call it, `rank` being less than ones() where it matters.
    __device__ __forceinline__ u32 place(u32 rank) const {
        u32 from = owner_of(upto, rank);
        u32 found = __shfl_sync(ALL_LANES, word, from);
        u32 before = __shfl_sync(ALL_LANES, upto, from) - __popc(found);
        return 32 * from + select_bit(found, rank - before);
    }
};

__device__ __forceinline__ HighParts read_highs(const Bits& bits, u32 position) {
    u32 word = peek(bits, position + 32 * lane_id());
    return HighParts{word, warp_inclusive_sum(u32(__popc(word)))};
}
