// A set of ids as a bitmap on the device, and each id's rank in it, as kernels/ids/bitmap.py has them.
//
// Contract: bit j of word i stands for id `base + 32 * i + j`; all ids lie within. A group is GROUP words; before[g]
// counts the ids in the groups before g. Ranks may be written over the ids where both types take as many bytes.
// Any block.
//
// variants ID: u32 u64
// variants VERTEX: u32 u64
#include "kernels/cuda/types.cuh"

constexpr u32 GROUP = 8;

extern "C" __global__ void mark_ids(const ID* ids, u64 count, u64 base, u32* bitmap) {
    for (u64 i = global_thread(); i < count; i += global_threads()) {
        const u64 offset = u64(ids[i]) - base;
        const u32 bit = 1u << (offset & 31);
        // Most ids are known already, and a read is cheaper than an atomic.
        if (!(bitmap[offset >> 5] & bit)) atomicOr(&bitmap[offset >> 5], bit);
    }
}

extern "C" __global__ void count_groups(const u32* bitmap, u64 groups, u32* counts) {
    for (u64 group = global_thread(); group < groups; group += global_threads()) {
        u32 count = 0;
        for (u32 word = 0; word < GROUP; word++) count += __popc(bitmap[group * GROUP + word]);
        counts[group] = count;
    }
}

extern "C" __global__ void rank_ids(const ID* ids, u64 count, u64 base, const u32* bitmap, const u32* before,
                                    VERTEX* ranks) {
    for (u64 i = global_thread(); i < count; i += global_threads()) {
        const u64 offset = u64(ids[i]) - base, word = offset >> 5;
        u32 rank = before[word / GROUP];
        for (u64 earlier = word / GROUP * GROUP; earlier < word; earlier++) rank += __popc(bitmap[earlier]);
        ranks[i] = VERTEX(rank + __popc(bitmap[word] & ((1u << (offset & 31)) - 1)));
    }
}

// Ids without gaps: each is its rank, but for where they begin.
extern "C" __global__ void shift_ids(const ID* ids, u64 count, u64 first, VERTEX* ranks) {
    for (u64 i = global_thread(); i < count; i += global_threads()) ranks[i] = VERTEX(u64(ids[i]) - first);
}

extern "C" __global__ void list_ids(const u32* bitmap, u64 groups, const u32* before, u64 base, i64* ids) {
    for (u64 group = global_thread(); group < groups; group += global_threads()) {
        u32 at = before[group];
        for (u32 word = 0; word < GROUP; word++)
            for (u32 bits = bitmap[group * GROUP + word]; bits; bits &= bits - 1)
                ids[at++] = i64(base + (group * GROUP + word) * 32 + __ffs(bits) - 1);
    }
}
