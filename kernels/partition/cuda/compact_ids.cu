// Names that columns get where only some of a rank's vertices have a place in its arrays (kernels/partition/cuda/compact_ids.py):
// of a vertex, how many before it have one. Masks have a bit for each vertex of a rank; `before` counts those in words before
// each. A vertex v of the graph is number v / ranks of rank v % ranks, before and after.
//
// variants VERTEX: u32 u64

#include "kernels/cuda/types.cuh"

__device__ __forceinline__ u32 compact_id(const u32* mask, const u32* before, u64 local) {
    return before[local / 32] + __popc(mask[local / 32] & ((1u << local % 32) - 1));
}

// Columns that name vertices of one rank, in place.
extern "C" __global__ void __launch_bounds__(256) name_locals(u32* columns, u64 count, const u32* mask, const u32* before) {
    for (u64 i = global_thread(); i < count; i += global_threads()) columns[i] = compact_id(mask, before, columns[i]);
}

// Columns that name vertices of the graph; of each rank `mask` and `before` have as many words.
extern "C" __global__ void __launch_bounds__(256)
    name_vertices(const VERTEX* columns, VERTEX* named, u64 count, const u32* mask, const u32* before, u64 words, u64 ranks) {
    for (u64 i = global_thread(); i < count; i += global_threads()) {
        VERTEX rank = columns[i] % VERTEX(ranks), local = columns[i] / VERTEX(ranks);
        named[i] = VERTEX(compact_id(mask + rank * words, before + rank * words, local)) * VERTEX(ranks) + rank;
    }
}
