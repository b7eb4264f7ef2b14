// Rows that a bottom-up step would read far in vain, counted before any search; see kernels/bfs/cuda/deferred_rows.py.
//
// Contract. row_offsets i64 (vertices + 1), columns VERTEX sorted by row, rows i64 (count) vertices to look at,
// largest u64 (1), zeroed before `find_largest`; counts u64 (2), zeroed before `count_far`. Block: a multiple of 32.
//
// variants VERTEX: u32 u64

#include "kernels/cuda/types.cuh"

constexpr u32 HUB_SHIFT = 33;  // as in shape.cu

__device__ __forceinline__ i64 degree_of(const i64* row_offsets, i64 row) {
    return row_offsets[row + 1] - row_offsets[row];
}

// The vertex of most arcs, as degree << 33 | vertex; degrees from 2^31 on count as 2^31 - 1.
extern "C" __global__ void find_largest(const i64* row_offsets, const i64* rows, u64 count, u64* largest) {
    u64 most = 0;
    for (u64 i = global_thread(); i < count; i += global_threads()) {
        u64 degree = u64(degree_of(row_offsets, rows[i]));
        u64 here = (degree < (1ull << 31) ? degree : (1ull << 31) - 1) << HUB_SHIFT | u64(rows[i]);
        most = here > most ? here : most;
    }
    __syncwarp();
    for (u32 step = WARP / 2; step; step /= 2) {
        u64 theirs = __shfl_xor_sync(ALL_LANES, most, step);
        most = theirs > most ? theirs : most;
    }
    if (lane_id() == 0 && most) atomicMax(largest, most);
}

// Whether an ascending row holds a vertex.
__device__ __forceinline__ bool holds(const VERTEX* row, i64 degree, VERTEX vertex) {
    i64 low = 0, high = degree;
    while (low < high) {
        i64 middle = (low + high) / 2;
        if (row[middle] < vertex)
            low = middle + 1;
        else
            high = middle;
    }
    return low < degree && row[low] == vertex;
}

// Counts: rows of `least` arcs or more, and those of them that meet neither `largest` nor a neighbour of it among
// their first `first` arcs. A warp looks at each row.
extern "C" __global__ void count_far(const i64* row_offsets, const VERTEX* columns, const i64* rows, u64 count,
                                     u64 least, u64 first, const u64* largest, u64* counts) {
    i64 hub = i64(*largest & ((1ull << HUB_SHIFT) - 1));
    const VERTEX* near = columns + row_offsets[hub];
    i64 nearby = degree_of(row_offsets, hub);
    u64 seen = 0, far = 0;
    for (u64 i = global_thread() / WARP; i < count; i += global_threads() / WARP) {
        i64 begin = row_offsets[rows[i]], degree = degree_of(row_offsets, rows[i]);
        if (degree < i64(least)) continue;
        bool met = false;
        for (u64 k = lane_id(); k - lane_id() < first && !met; k += WARP) {
            VERTEX vertex = columns[begin + i64(k < first ? k : first - 1)];
            met = __any_sync(ALL_LANES, vertex == VERTEX(hub) || holds(near, nearby, vertex));
        }
        ++seen;
        far += !met;
    }
    if (lane_id() == 0 && seen) {
        atomicAdd(&counts[0], seen);
        if (far) atomicAdd(&counts[1], far);
    }
}
