// Reductions of masks between devices that read each other's memory, apart from any search: `turns` of them in one
// cooperative launch on each device, which holds some of the ranks. In a turn every rank writes its mask anew, as visits
// do, all meet, and then either every rank reads the masks of all others (no rounds) or they follow a schedule in place
// (kernels/partition/cuda/rounds_of_masks.cuh). `clock` has the nanoseconds of the first block before and after all turns.

#include "kernels/partition/cuda/device_barrier.cuh"
#include "kernels/partition/cuda/rounds_of_masks.cuh"

// Of a rank: its mask, which others read, what it is before a reduction, and what it is afterwards. The fields are in
// tests/benchmarks/reductions_side_by_side.py too.
struct Masks {
    u64* mask;
    const u64* before;
    u64* after;
};

// The OR of all masks, each word read once.
__device__ __forceinline__ void read_all(const Masks* masks, u64 ranks, u64 words, u64* after) {
    for (u64 i = global_thread(); i < words; i += global_threads()) {
        u64 sum = 0;
        for (u64 from = 0; from < ranks; ++from) sum |= __ldcv(&masks[from].mask[i]);
        after[i] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(512, 2)
    reductions(const Barrier* barrier, const Masks* masks, const u64* here, const u32* schedule, u64* clock, u64 here_count,
               u64 ranks, u64 words, u64 rounds, u64 turns) {
    const Barrier& m = *barrier;
    if (threadIdx.x == 0) open_barrier(m);
    if (!synchronise(m, true)) return;
    if (global_thread() == 0) clock[0] = nanoseconds();
    for (u64 turn = 0; turn < turns; ++turn) {
        for (u64 k = 0; k < here_count; ++k) {
            const Masks& own = masks[here[k]];
            for (u64 i = global_thread(); i < words; i += global_threads()) own.mask[i] = own.before[i];
        }
        if (!synchronise(m, true)) return;
        for (u64 round = 0; round < rounds; ++round) {
            for (u64 k = 0; k < here_count; ++k)
                take_masks(masks[here[k]].mask, schedule, round * ranks + here[k], words,
                           [&](u32 from) { return masks[from].mask; });
            if (!synchronise(m, true)) return;
        }
        for (u64 k = 0; !rounds && k < here_count; ++k) read_all(masks, ranks, words, masks[here[k]].after);
        if (!rounds && !synchronise(m, true)) return;
    }
    if (global_thread() == 0) clock[1] = nanoseconds();
}
