// What the lanes of a warp find out and do together; their sums are in types.cuh.

#include "kernels/cuda/types.cuh"

// Take the lowest of the bits that are set, such as those of lanes; gives its number.
__device__ __forceinline__ u32 take_lowest(u32& bits) {
    u32 lowest = __ffs(bits) - 1;
    bits &= bits - 1;
    return lowest;
}

// Add the vertices of some lanes to a list whose length is `tail`; all lanes call it.
template <class T>
__device__ __forceinline__ void append(T* list, u64* tail, bool mine, T vertex) {
    u32 lanes = __ballot_sync(ALL_LANES, mine);
    if (!lanes) return;
    u64 base = 0;
    if (lane_id() == 0) base = atomicAdd(tail, u64(__popc(lanes)));
    base = __shfl_sync(ALL_LANES, base, 0);
    if (mine) list[base + __popc(lanes & lanes_below())] = vertex;
}
