// Pieces of long rows, as kernels/cuda/pieces.py lists them.

#pragma once
#include "kernels/cuda/types.cuh"

// Where a piece ends that begins with the arc `begin` of row v and has `length` arcs at most.
__device__ __forceinline__ i64 piece_end(const i64* row_offsets, u64 v, i64 begin, u64 length) {
    i64 end = row_offsets[v + 1];
    return end - begin > i64(length) ? begin + i64(length) : end;
}
