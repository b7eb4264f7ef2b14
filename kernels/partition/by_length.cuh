// Rows mapped to lanes, warps or blocks by their lengths (Pan, Pearce, Owens 2018, section IV-A, after Merrill's
// hybrid gather).

#include "kernels/cuda/types.cuh"

constexpr u32 WARP_ROW = 32, BLOCK_ROW = 512;  // arcs from which on a row is a warp's or a block's

struct BlockRow {
    u64 begin, owner;
    u32 length, thread;
};

// `rows(i, begin, length, owner)` gives the i-th row; `visit(live, arc, owner)` is called by whole warps. Few rows
// are dealt to all blocks, and in each to all warps, since any of them may be long.
template <class Rows, class Visit>
__device__ __forceinline__ void visit_by_length(BlockRow& shared, u64 count, const Rows& rows, const Visit& visit) {
    u64 even = (count + gridDim.x - 1) / gridDim.x;
    u32 share = even < blockDim.x ? u32(even) : blockDim.x;
    u32 place = lane_id() * (blockDim.x / WARP) + warp_id();
    for (u64 first = u64(blockIdx.x) * share; first < count; first += u64(gridDim.x) * share) {
        u64 i = first + place, begin = 0, owner = 0;
        u32 length = 0;
        if (place < share && i < count) rows(i, begin, length, owner);
        while (__syncthreads_or(length >= BLOCK_ROW)) {
            if (length >= BLOCK_ROW) shared.thread = threadIdx.x;
            __syncthreads();
            if (length >= BLOCK_ROW && shared.thread == threadIdx.x) {
                shared.begin = begin;
                shared.owner = owner;
                shared.length = length;
                length = 0;
            }
            __syncthreads();
            u64 from = shared.begin, of = shared.owner;
            for (u32 at = 0; at < shared.length; at += blockDim.x)
                visit(at + threadIdx.x < shared.length, from + at + threadIdx.x, of);
            __syncthreads();
        }
        u32 wide = __ballot_sync(ALL_LANES, length >= WARP_ROW);
        while (wide) {
            u32 lane = __ffs(wide) - 1;
            wide &= wide - 1;
            u64 from = __shfl_sync(ALL_LANES, begin, lane), of = __shfl_sync(ALL_LANES, owner, lane);
            u32 arcs = __shfl_sync(ALL_LANES, length, lane);
            for (u32 at = 0; at < arcs; at += WARP) visit(at + lane_id() < arcs, from + at + lane_id(), of);
        }
        u32 few = length < WARP_ROW ? length : 0;
        u32 upto = warp_inclusive_sum(few), total = __shfl_sync(ALL_LANES, upto, WARP - 1);
        for (u32 at = 0; at < total; at += WARP) {
            u32 k = at + lane_id(), lane = 0;
#pragma unroll
            for (u32 step = WARP / 2; step; step /= 2)
                if (k >= __shfl_sync(ALL_LANES, upto, lane + step - 1)) lane += step;
            u64 from = __shfl_sync(ALL_LANES, begin, lane), of = __shfl_sync(ALL_LANES, owner, lane);
            u32 before = __shfl_sync(ALL_LANES, upto - few, lane);
            visit(k < total, from + (k - before), of);
        }
    }
}
