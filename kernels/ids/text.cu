// Texts on the device: which of them are equal, by a hash table over their bytes; the CPU's is kernels/ids/text.py.
//
// Contract. Text i of `rows`, fewer than 2^32 - 1, is text[offsets[i]] to text[offsets[i + 1]]. slots u64 (mask + 1),
// a power of two above `rows`, zeroed: 0, or the upper half of a text's hash, and below it the text's number + 1.
// Collisions go to the next slot. first_equal u32 (rows): of equal texts all have the same one of them. Each such
// one has a number below `count`, which is counted from 0 on: numbers u32 (rows), and listed u32 (rows) has the text
// of each number. Which of equal texts it is, and the order of the numbers, differ between runs. Any block.

#include "kernels/cuda/types.cuh"

constexpr u64 MULTIPLIER = 0x9E3779B97F4A7C15ull;

// The finalizer of MurmurHash3, by Appleby.
__device__ __forceinline__ u64 mixed(u64 value) {
    value ^= value >> 33;
    value *= 0xFF51AFD7ED558CCDull;
    value ^= value >> 33;
    value *= 0xC4CEB9FE1A85EC53ull;
    return value ^ value >> 33;
}

__device__ __forceinline__ u64 hash_of(const u8* text, i64 begin, i64 end, u64 seed) {
    u64 found = seed ^ u64(end - begin) * MULTIPLIER;
    for (i64 place = begin; place < end; place += 8) {
        u64 word = 0;
        for (i64 k = place; k < end && k < place + 8; k++) word = word << 8 | text[k];
        found = mixed((found + MULTIPLIER) ^ word);
    }
    return mixed(found);
}

__device__ __forceinline__ bool are_equal(const u8* text, const i64* offsets, u64 one, u64 other) {
    i64 begin = offsets[one], length = offsets[one + 1] - begin, first = offsets[other];
    if (offsets[other + 1] - first != length) return false;
    for (i64 k = 0; k < length; k++)
        if (text[begin + k] != text[first + k]) return false;
    return true;
}

// Offsets of a part that lies elsewhere in the whole.
extern "C" __global__ void shift_offsets(i64* offsets, u64 count, i64 shift) {
    for (u64 i = global_thread(); i < count; i += global_threads()) offsets[i] += shift;
}

extern "C" __global__ void insert_texts(const u8* text, const i64* offsets, u64 rows, u64 seed, u64* slots, u64 mask,
                                        u32* first_equal, u32* numbers, u32* listed, u64* count) {
    for (u64 i = global_thread(); i < rows; i += global_threads()) {
        u64 hash = hash_of(text, offsets[i], offsets[i + 1], seed);
        u64 mine = hash >> 32 << 32 | (i + 1);
        for (u64 place = hash & mask;; place = (place + 1) & mask) {
            // What is read may be old: then it is 0, and the swap finds what is there.
            u64 slot = slots[place];
            if (!slot) slot = atomicCAS(&slots[place], 0ull, mine);
            if (!slot) {
                u64 number = atomicAdd(count, 1ull);
                numbers[i] = u32(number);
                listed[number] = u32(i);
                first_equal[i] = u32(i);
                break;
            }
            u64 other = (slot & 0xFFFFFFFFull) - 1;
            if (slot >> 32 == hash >> 32 && are_equal(text, offsets, i, other)) {
                first_equal[i] = u32(other);
                break;
            }
        }
    }
}

extern "C" __global__ void text_lengths(const i64* offsets, const u32* listed, u64 count, i64* lengths) {
    for (u64 i = global_thread(); i < count; i += global_threads())
        lengths[i] = offsets[u64(listed[i]) + 1] - offsets[listed[i]];
}

// ends (count + 1): where each copy begins, and behind the last.
extern "C" __global__ void copy_texts(const u8* text, const i64* offsets, const u32* listed, u64 count,
                                      const i64* ends, u8* copies) {
    for (u64 i = global_thread(); i < count; i += global_threads()) {
        i64 from = offsets[listed[i]];
        for (i64 k = 0; k < ends[i + 1] - ends[i]; k++) copies[ends[i] + k] = text[from + k];
    }
}

extern "C" __global__ void rank_texts(const u32* first_equal, const u32* numbers, const u32* ranks, u64 rows,
                                      u32* vertices) {
    for (u64 i = global_thread(); i < rows; i += global_threads()) vertices[i] = ranks[numbers[first_equal[i]]];
}
