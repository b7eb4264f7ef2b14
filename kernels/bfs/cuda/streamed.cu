// BFS over rows that come part by part while it runs: the steps of a level as launches of their own, between which
// the host reads parts and copies them to the device. See host_rows.cuh for the state; what a part is, and how the
// rows in it are read, is in sources/streamed_columns.cuh and sources/streamed_encoded.cuh.
//
// Contract. As for host_rows.cu. The host zeroes the CONTROL words before mark and end_level, and a ticket before each
// push_part.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh
// variants VERTEX: u32 u64
// variants TREE: 0 32 33

#include "kernels/bfs/cuda/host_rows.cuh"

// The counts of a block's threads, added up to a part's.
__device__ __forceinline__ void add_part(u32* counts, u64 part, u32 count) {
    count = warp_sum(count);
    if (threadIdx.x == 0) counts[part] = 0;
    __syncthreads();
    if (lane_id() == 0 && count) atomicAdd(&counts[part], count);
    __syncthreads();
}

#if IS_COLUMNS(LAYOUT)
#include "kernels/bfs/cuda/sources/streamed_columns.cuh"
#else
#include "kernels/bfs/cuda/sources/streamed_encoded.cuh"
#endif

extern "C" __global__ void begin(STATE_PARAMETERS, u64 source) { begin_search(STATE, source); }

extern "C" __global__ void end_level(STATE_PARAMETERS) { turn(STATE); }

extern "C" __global__ void finish(STATE_PARAMETERS) { write_wide(keys, distance, predecessor, vertices); }
