// Rows of a graph of clusters that lies in host memory, brought to the device a range of their next clusters at a time.
//
// Contract: as for community_tree.cu; `grouped` u64 holds cluster << 32 | member, ascending; offsets and new_offsets
// lie on the device, columns and weights (null for ones) wherever it can read them. Any block that is a multiple of 32
// up to 1024.
//
// variants VERTEX: u32 u64
// variants WEIGHT: u32 u64

#include "kernels/cuda/types.cuh"

constexpr i64 LONG_ROW = 1024;  // arcs from which a block copies a row, not a warp

// cluster << 32 | member
extern "C" __global__ void group_keys(const VERTEX* cluster, u64 members, u64* grouped) {
    for (u64 member = global_thread(); member < members; member += global_threads())
        grouped[member] = u64(cluster[member]) << 32 | member;
}

// The cluster and the length of each of `count` rows, those of grouped[begin] and the ones after it.
extern "C" __global__ void measure_rows(const i64* row_offsets, const u64* grouped, u64 begin, u64 count, VERTEX* own,
                                        i64* lengths) {
    for (u64 i = global_thread(); i < count; i += global_threads()) {
        u64 key = grouped[begin + i], member = key & 0xffffffffull;
        own[i] = VERTEX(key >> 32);
        lengths[i] = row_offsets[member + 1] - row_offsets[member];
    }
}

__device__ __forceinline__ void copy_row(const i64* row_offsets, const VERTEX* columns, const WEIGHT* weights, u64 member,
                                         i64 to, i64 length, u32 first, u32 step, VERTEX* new_columns, WEIGHT* new_weights) {
    i64 from = row_offsets[member];
    for (i64 k = first; k < length; k += step) {
        new_columns[to + k] = columns[from + k];
        if (weights) new_weights[to + k] = weights[from + k];
    }
}

// Copy those rows to new_offsets. Warps take rows of up to LONG_ROW arcs, blocks the others.
extern "C" __global__ void copy_rows(const i64* row_offsets, const VERTEX* columns, const WEIGHT* weights,
                                     const u64* grouped, u64 begin, u64 count, const i64* new_offsets,
                                     VERTEX* new_columns, WEIGHT* new_weights) {
    for (u64 i = global_thread() / WARP; i < count; i += global_threads() / WARP) {
        i64 to = new_offsets[i], length = new_offsets[i + 1] - to;
        if (length <= LONG_ROW)
            copy_row(row_offsets, columns, weights, grouped[begin + i] & 0xffffffffull, to, length, lane_id(), WARP,
                     new_columns, new_weights);
    }
    for (u64 i = blockIdx.x; i < count; i += gridDim.x) {
        i64 to = new_offsets[i], length = new_offsets[i + 1] - to;
        if (length > LONG_ROW)
            copy_row(row_offsets, columns, weights, grouped[begin + i] & 0xffffffffull, to, length, threadIdx.x,
                     blockDim.x, new_columns, new_weights);
    }
}

// sums[cluster] += the weights of those rows' arcs to it, their own cluster aside; sums start at zero. For a cluster
// whose arcs do not fit the device. A block takes a row.
extern "C" __global__ void add_rows(const i64* row_offsets, const VERTEX* columns, const WEIGHT* weights,
                                    const VERTEX* cluster, const u64* grouped, u64 begin, u64 count, WEIGHT* sums) {
    for (u64 i = blockIdx.x; i < count; i += gridDim.x) {
        u64 member = grouped[begin + i] & 0xffffffffull, own = grouped[begin + i] >> 32;
        for (i64 k = row_offsets[member] + threadIdx.x; k < row_offsets[member + 1]; k += blockDim.x) {
            VERTEX other = cluster[columns[k]];
            if (other != own) atomicAdd(&sums[other], weights ? weights[k] : WEIGHT(1));
        }
    }
}
