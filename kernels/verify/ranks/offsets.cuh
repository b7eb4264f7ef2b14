// Row offsets of a rank's subgraphs, which are of 32 or of 64 bits.

#include "kernels/cuda/types.cuh"

__device__ __forceinline__ u64 offset_at(const void* offsets, bool wide, u64 row) {
    return wide ? static_cast<const u64*>(offsets)[row] : static_cast<const u32*>(offsets)[row];
}
