// Sort keys of the light orders: groups of degree, and within a group the numbering as it was.
//
// Contract: row_offsets i64 (vertices + 1); least i64 (groups) descends. A key is class << bits | vertex, so that
// ascending keys are the order; vertices below every least degree form the last class. Any block.

#include "kernels/cuda/types.cuh"

extern "C" __global__ void group_keys(const i64* row_offsets, u64 vertices, const i64* least, u32 groups, u32 bits,
                                      u64* keys) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        i64 degree = row_offsets[v + 1] - row_offsets[v];
        u32 group = 0;
        while (group < groups && degree < least[group]) ++group;
        keys[v] = u64(group) << bits | v;
    }
}

// Hubs, of `least` arcs or more, by descending degree, and then the others.
extern "C" __global__ void hub_keys(const i64* row_offsets, u64 vertices, i64 least, i64 longest, u32 bits, u64* keys) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        i64 degree = row_offsets[v + 1] - row_offsets[v];
        keys[v] = u64(degree >= least ? longest - degree : longest - least + 1) << bits | v;
    }
}
