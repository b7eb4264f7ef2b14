// Rows mapped to lanes, warps or blocks by their lengths (Pan, Pearce, Owens 2018, section IV-A, after Merrill's
// hybrid gather). A lane has N arcs under way at once.

#include "kernels/cuda/types.cuh"

constexpr u32 WARP_ROW = 32, BLOCK_ROW = 2048;  // arcs from which on a row is a warp's or a block's

struct BlockRow {
    u64 begin, owner;
    u32 length, thread;
};

// Arcs of one lane, of which those that are `live` exist.
template <u32 N>
struct Arcs {
    bool live[N];
    u64 arc[N], owner[N];
};

// Visit a row with `stride` threads side by side, of which this is number `thread`.
template <u32 N, class Visit>
__device__ __forceinline__ void visit_row(u64 begin, u64 owner, u32 length, u32 thread, u32 stride, const Visit& visit) {
    for (u32 at = 0; at < length; at += N * stride) {
        Arcs<N> arcs;
#pragma unroll
        for (u32 k = 0; k < N; ++k) {
            u32 place = at + k * stride + thread;
            arcs.live[k] = place < length;
            arcs.arc[k] = begin + place;
            arcs.owner[k] = owner;
        }
        visit(arcs);
    }
}

// `rows(i, begin, length, owner)` gives the i-th row; `visit(arcs)` is called by whole warps. Few rows are dealt to
// all blocks one by one, and in each to all warps, since long ones come together. The next rows are read ahead.
template <u32 N, class Rows, class Visit>
__device__ __forceinline__ void visit_by_length(BlockRow& shared, u64 count, const Rows& rows, const Visit& visit) {
    u64 even = (count + gridDim.x - 1) / gridDim.x, round = u64(gridDim.x) * blockDim.x;
    bool few = even < blockDim.x;
    u32 share = few ? u32(even) : blockDim.x, place = lane_id() * (blockDim.x / WARP) + warp_id();
    u64 own = few ? u64(place) * gridDim.x + blockIdx.x : u64(blockIdx.x) * blockDim.x + threadIdx.x;
    u64 next_begin = 0, next_owner = 0;
    u32 next_length = 0;
    auto read = [&](u64 first) {
        next_length = 0;
        if ((!few || place < share) && first + own < count) rows(first + own, next_begin, next_length, next_owner);
    };
    read(0);
    for (u64 first = 0; first < count; first += round) {
        u64 begin = next_begin, owner = next_owner;
        u32 length = next_length;
        read(first + round);
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
            visit_row<N>(shared.begin, shared.owner, shared.length, threadIdx.x, blockDim.x, visit);
            __syncthreads();
        }
        u32 wide = __ballot_sync(ALL_LANES, length >= WARP_ROW);
        while (wide) {
            u32 lane = __ffs(wide) - 1;
            wide &= wide - 1;
            visit_row<N>(__shfl_sync(ALL_LANES, begin, lane), __shfl_sync(ALL_LANES, owner, lane),
                      __shfl_sync(ALL_LANES, length, lane), lane_id(), WARP, visit);
        }
        u32 brief = length < WARP_ROW ? length : 0;
        u32 upto = warp_inclusive_sum(brief), total = __shfl_sync(ALL_LANES, upto, WARP - 1);
        for (u32 at = 0; at < total; at += N * WARP) {
            Arcs<N> arcs;
#pragma unroll
            for (u32 k = 0; k < N; ++k) {
                u32 i = at + k * WARP + lane_id(), lane = 0;
#pragma unroll
                for (u32 step = WARP / 2; step; step /= 2)
                    if (i >= __shfl_sync(ALL_LANES, upto, lane + step - 1)) lane += step;
                arcs.live[k] = i < total;
                arcs.owner[k] = __shfl_sync(ALL_LANES, owner, lane);
                arcs.arc[k] = __shfl_sync(ALL_LANES, begin, lane) + i - __shfl_sync(ALL_LANES, upto - brief, lane);
            }
            visit(arcs);
        }
    }
}

// The same, an arc at a time: `visit(live, arc, owner)`.
template <class Rows, class Visit>
__device__ __forceinline__ void visit_arcs_by_length(BlockRow& shared, u64 count, const Rows& rows, const Visit& visit) {
    visit_by_length<1>(shared, count, rows, [&](const Arcs<1>& arcs) { visit(arcs.live[0], arcs.arc[0], arcs.owner[0]); });
}
