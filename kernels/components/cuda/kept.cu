// First neighbours of rows of columns that lie elsewhere, brought to the device; see kept.cuh.
//
// Contract: row_offsets i64 (vertices + 1) on the device, columns VERTEX wherever the device can read them; lengths i64
// (vertices), kept_offsets i64 (vertices + 1), their sums; longer u32 (vertices / 32, rounded up). Any grid; block: a
// multiple of 32.
//
// variants VERTEX: u32 u64

#include "kernels/components/cuda/forest.cuh"

__device__ __forceinline__ u64 length_of(const i64* row_offsets, u64 v, u64 most) {
    u64 arcs = u64(row_offsets[v + 1] - row_offsets[v]);
    return arcs < most ? arcs : most;
}

// Add up how many neighbours are among the first `most` of their row; total is zero before.
extern "C" __global__ void count_first(const i64* row_offsets, u64 vertices, u64 most, u64* total) {
    u64 sum = 0;
    for (u64 v = global_thread(); v < vertices; v += global_threads()) sum += length_of(row_offsets, v, most);
    sum = warp_sum(sum);
    if (lane_id() == 0 && sum) atomicAdd(total, sum);
}

// How many neighbours of each row are kept, and which rows have more.
extern "C" __global__ void measure_first(const i64* row_offsets, u64 vertices, u64 most, i64* lengths, u32* longer) {
    for (u64 base = global_thread() - lane_id(); base < vertices; base += global_threads()) {
        u64 v = base + lane_id();
        bool more = v < vertices && u64(row_offsets[v + 1] - row_offsets[v]) > most;
        if (v < vertices) lengths[v] = i64(length_of(row_offsets, v, most));
        u32 word = __ballot_sync(ALL_LANES, more);
        if (lane_id() == 0) longer[base / WARP] = word;
    }
}

// Copy the first neighbours. Warps take rows in ascending order, and read each in step.
extern "C" __global__ void copy_first(const i64* row_offsets, const VERTEX* columns, u64 vertices, const i64* kept_offsets,
                                      VERTEX* kept) {
    for (u64 v = global_thread() / WARP; v < vertices; v += global_threads() / WARP) {
        i64 from = row_offsets[v], to = kept_offsets[v], end = kept_offsets[v + 1];
        for (i64 i = to + lane_id(); i < end; i += WARP) kept[i] = columns[from + i - to];
    }
}

// The heads (planes, vertices) out of what is kept, NO_VERTEX where a row has fewer or names no vertex.
extern "C" __global__ void heads_of_first(const i64* kept_offsets, const VERTEX* kept, u64 vertices, u64 planes,
                                          VERTEX* heads) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        i64 at = kept_offsets[v], end = kept_offsets[v + 1];
        for (u64 k = 0; k < planes; ++k, ++at) heads[k * vertices + v] = at < end && kept[at] < vertices ? kept[at] : NO_VERTEX;
    }
}
