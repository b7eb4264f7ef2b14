// Orders by degree and renumbering: the kernels around CuPy's radix sorts.
//
// Contract: row_offsets i64 (vertices + 1); permutation VERTEX (vertices), permutation[old] = new, and its
// inverse. A sort key is number << bits | vertex, so equal numbers stay in the order of their vertices.
// Any block that is a multiple of 32.
//
// variants VERTEX: u32 u64

#include "kernels/cuda/types.cuh"

// Keys of groups of degree: least i64 (groups) descends, and vertices below every least degree form the last group.
extern "C" __global__ void group_keys(const i64* row_offsets, u64 vertices, const i64* least, u32 groups, u32 bits,
                                      u64* keys) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        i64 degree = row_offsets[v + 1] - row_offsets[v];
        u32 group = 0;
        while (group < groups && degree < least[group]) ++group;
        keys[v] = u64(group) << bits | v;
    }
}

// Keys of hubs, of `least` arcs or more, by descending degree, and then of the others.
extern "C" __global__ void hub_keys(const i64* row_offsets, u64 vertices, i64 least, i64 longest, u32 bits, u64* keys) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        i64 degree = row_offsets[v + 1] - row_offsets[v];
        keys[v] = u64(degree >= least ? longest - degree : longest - least + 1) << bits | v;
    }
}

// The vertex in place i gets the number i.
extern "C" __global__ void ranks(const u64* keys, u64 vertices, u32 bits, VERTEX* permutation) {
    u64 mask = (1ull << bits) - 1;
    for (u64 i = global_thread(); i < vertices; i += global_threads()) permutation[keys[i] & mask] = VERTEX(i);
}

// inverse[new] = old and degrees[new]; inverse starts at all ones. faults counts numbers that occur twice or
// are no vertex.
extern "C" __global__ void invert(const i64* row_offsets, const VERTEX* permutation, u64 vertices, u64* inverse,
                                  i64* degrees, u64* faults) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        u64 to = permutation[v];
        if (to >= vertices || atomicCAS(&inverse[to], ~0ull, v) != ~0ull) {
            atomicAdd(faults, 1ull);
            continue;
        }
        degrees[to] = row_offsets[v + 1] - row_offsets[v];
    }
}

// keys[arc] = (row - first) << bits | renumbered column, for the new rows first <= row < last. Warps take
// rows of up to `long_row` arcs, blocks the others, listed in `long_rows` less `first`.
extern "C" __global__ void row_keys(const i64* row_offsets, const VERTEX* columns, const VERTEX* permutation,
                                    const u64* inverse, const i64* new_offsets, u64 first, u64 last, u32 bits,
                                    i64 long_row, const i64* long_rows, u64 long_count, u64* keys) {
    i64 base = new_offsets[first];
    u64 warps = global_threads() / WARP;
    for (u64 row = first + global_thread() / WARP; row < last; row += warps) {
        i64 to = new_offsets[row] - base, length = new_offsets[row + 1] - base - to;
        if (length > long_row) continue;
        i64 from = row_offsets[inverse[row]];
        for (i64 k = lane_id(); k < length; k += WARP) keys[to + k] = (row - first) << bits | permutation[columns[from + k]];
    }
    for (u64 i = blockIdx.x; i < long_count; i += gridDim.x) {
        u64 row = first + u64(long_rows[i]);
        i64 to = new_offsets[row] - base, length = new_offsets[row + 1] - base - to;
        i64 from = row_offsets[inverse[row]];
        for (i64 k = threadIdx.x; k < length; k += blockDim.x)
            keys[to + k] = (row - first) << bits | permutation[columns[from + k]];
    }
}

// The columns of sorted keys.
extern "C" __global__ void key_columns(const u64* keys, u64 count, u32 bits, VERTEX* columns) {
    u64 mask = (1ull << bits) - 1;
    for (u64 i = global_thread(); i < count; i += global_threads()) columns[i] = VERTEX(keys[i] & mask);
}
