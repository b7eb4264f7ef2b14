// One round of a reduction of masks (kernels/partition/reductions.py), in place: a rank reads the masks of those that the
// schedule names, and ORs them into its own. Between two rounds all devices synchronise.
//
// Where two ranks take each other's masks in one round, one may read words that the other has added to. That adds bits of
// the result alone, and none are lost, since only a rank itself writes its mask.

#include "kernels/cuda/types.cuh"

// A schedule has for every round and rank where its list begins, (rounds * ranks + 1) places, and then the lists.
// `at` is round * ranks + rank; `mask_of(rank)` gives a rank's mask. Masks have `words` of 64 bits.
template <class MaskOf>
__device__ __forceinline__ void take_masks(u64* own, const u32* schedule, u64 at, u64 words, const MaskOf& mask_of) {
    constexpr u32 AT_ONCE = 4;  // loads of a thread on their way
    u32 first = schedule[at], last = schedule[at + 1];
    if (first == last) return;
    for (u64 base = global_thread(); base < words; base += AT_ONCE * global_threads()) {
        u64 before[AT_ONCE], sum[AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) {
            u64 i = base + k * global_threads();
            before[k] = sum[k] = i < words ? __ldcv(&own[i]) : 0;
        }
        for (u32 entry = first; entry < last; ++entry) {
            const u64* theirs = mask_of(schedule[entry]);
            u64 word[AT_ONCE];
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) {
                u64 i = base + k * global_threads();
                word[k] = i < words ? __ldcv(&theirs[i]) : 0;
            }
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) sum[k] |= word[k];
        }
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k)
            if (sum[k] != before[k]) own[base + k * global_threads()] = sum[k];
    }
}
