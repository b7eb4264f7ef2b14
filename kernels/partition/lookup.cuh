// Look-ups in the rows of a graph and among its delegates, and counts that a warp adds up first.
//
// Contract: i64 offsets are read as u64. Delegates are a bit v % 64 of words[v / 64]; `before` counts those of
// earlier words.
#include "kernels/cuda/types.cuh"

constexpr u32 NOTHING = 0xffffffffu;

// The row that holds an arc: the last one of the range that does not begin after it.
__device__ __forceinline__ u64 row_of(const u64* offsets, u64 first, u64 rows, u64 arc) {
    u64 low = first, high = first + rows;
    while (high - low > 1) {
        const u64 middle = (low + high) / 2;
        if (offsets[middle] <= arc) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

// A vertex's position among the delegates; NOTHING for a normal vertex.
__device__ __forceinline__ u32 position_of(u64 vertex, const u64* words, const u32* before) {
    const u64 word = words[vertex / 64], bit = 1ull << (vertex % 64);
    if (!(word & bit)) return NOTHING;
    const u64 below = word & (bit - 1);
    return before[vertex / 64] + __popc(u32(below)) + __popc(u32(below >> 32));
}

// Add one for each lane's bin, once for all lanes of the warp that have the same; NOTHING is no bin.
__device__ __forceinline__ void add_together(u64* bins, u32 bin) {
    const u32 alike = __match_any_sync(ALL_LANES, bin);
    if (bin != NOTHING && lane_id() == u32(__ffs(alike) - 1)) atomicAdd(&bins[bin], u64(__popc(alike)));
}
