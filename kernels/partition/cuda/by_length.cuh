// Rows mapped to lanes, warps or blocks by their lengths (Pan, Pearce, Owens 2018, section IV-A, after Merrill's
// hybrid gather). A lane has N arcs under way at once, and two short rows.

#include "kernels/cuda/types.cuh"

constexpr u32 WARP_ROW = 32, BLOCK_ROW = 2048;  // arcs from which on a row is a warp's or a block's

struct RowOf {
    OFFSET begin;
    u32 owner, length;
};

struct BlockRow {
    RowOf row;
    u32 thread;
};

// Arcs of one lane, of which those that are `live` exist.
template <u32 N>
struct Arcs {
    bool live[N];
    OFFSET arc[N];
    u32 owner[N];
};

__device__ __forceinline__ RowOf row_of_lane(const RowOf& row, u32 lane) {
    return {__shfl_sync(ALL_LANES, row.begin, lane), __shfl_sync(ALL_LANES, row.owner, lane),
            __shfl_sync(ALL_LANES, row.length, lane)};
}

// Visit a row with `stride` threads side by side, of which this is number `thread`.
template <u32 N, class Visit>
__device__ __forceinline__ void visit_row(const RowOf& row, u32 thread, u32 stride, const Visit& visit) {
    for (u32 at = 0; at < row.length; at += N * stride) {
        Arcs<N> arcs;
#pragma unroll
        for (u32 k = 0; k < N; ++k) {
            u32 place = at + k * stride + thread;
            arcs.live[k] = place < row.length;
            arcs.arc[k] = row.begin + place;
            arcs.owner[k] = row.owner;
        }
        visit(arcs);
    }
}

// A row of a queue of normal vertices.
__device__ __forceinline__ RowOf queued_row(const u32* queue, const OFFSET* offsets, u64 i) {
    u32 owner = queue[i];
    OFFSET begin = offsets[owner];
    return {begin, owner, u32(offsets[owner + 1] - begin)};
}

// Visit the rows that are long enough for a block or, if WARPS, a warp.
template <u32 N, bool WARPS = true, class Visit>
__device__ __forceinline__ void visit_long_rows(BlockRow& shared, RowOf row, const Visit& visit) {
    while (__syncthreads_or(row.length >= BLOCK_ROW)) {
        if (row.length >= BLOCK_ROW) shared.thread = threadIdx.x;
        __syncthreads();
        if (row.length >= BLOCK_ROW && shared.thread == threadIdx.x) {
            shared.row = row;
            row.length = 0;
        }
        __syncthreads();
        visit_row<N>(shared.row, threadIdx.x, blockDim.x, visit);
        __syncthreads();
    }
    if (!WARPS) return;
    for (u32 wide = __ballot_sync(ALL_LANES, row.length >= WARP_ROW); wide; wide &= wide - 1)
        visit_row<N>(row_of_lane(row, __ffs(wide) - 1), lane_id(), WARP, visit);
}

// `rows(i)` gives the i-th row, and `visit(arcs)` is called by whole warps. Few rows are assigned to all blocks one by
// one, from number `begin_at` on, and in each to all warps, since long ones come together. Rows are read ahead.
template <u32 N, class Rows, class Visit>
__device__ __forceinline__ void visit_by_length(BlockRow& shared, u64 count, u32 begin_at, const Rows& rows, const Visit& visit) {
    u64 threads = u64(gridDim.x) * blockDim.x;
    bool few = count < threads;
    u32 block = blockIdx.x >= begin_at ? blockIdx.x - begin_at : blockIdx.x + gridDim.x - begin_at;
    if (few && block >= count) return;
    u64 own = few ? u64(lane_id() * (blockDim.x / WARP) + warp_id()) * gridDim.x + block : u64(block) * blockDim.x + threadIdx.x;
    auto read = [&](u64 i) { return i < count ? rows(i) : RowOf{0, 0, 0}; };
    RowOf next[2] = {read(own), read(own + threads)};
    for (u64 first = 0; first < count; first += 2 * threads) {
        RowOf row[2] = {next[0], next[1]};
#pragma unroll
        for (u32 r = 0; r < 2; ++r) next[r] = read(first + own + (2 + r) * threads);
        // One copy of what they are visited with, which is long.
#pragma unroll 1
        for (u32 r = 0; r < 2; ++r) visit_long_rows<N>(shared, r ? row[1] : row[0], visit);
#pragma unroll
        for (u32 r = 0; r < 2; ++r)
            if (row[r].length >= WARP_ROW) row[r].length = 0;
        u32 own_arcs = row[0].length + row[1].length, upto = warp_inclusive_sum(own_arcs);
        u32 total = __shfl_sync(ALL_LANES, upto, WARP - 1);
        for (u32 at = 0; at < total; at += N * WARP) {
            Arcs<N> arcs;
#pragma unroll
            for (u32 k = 0; k < N; ++k) {
                u32 i = at + k * WARP + lane_id(), lane = 0;
#pragma unroll
                for (u32 step = WARP / 2; step; step /= 2)
                    if (i >= __shfl_sync(ALL_LANES, upto, lane + step - 1)) lane += step;
                u32 place = i - __shfl_sync(ALL_LANES, upto - own_arcs, lane);
                RowOf one = row_of_lane(row[0], lane), other = row_of_lane(row[1], lane);
                bool second = place >= one.length;
                arcs.live[k] = i < total;
                arcs.owner[k] = second ? other.owner : one.owner;
                arcs.arc[k] = second ? other.begin + (place - one.length) : one.begin + place;
            }
            visit(arcs);
        }
    }
}

// The same, an arc at a time: `visit(live, arc, owner)`.
template <class Rows, class Visit>
__device__ __forceinline__ void visit_arcs_by_length(BlockRow& shared, u64 count, const Rows& rows, const Visit& visit) {
    visit_by_length<1>(shared, count, 0, rows, [&](const Arcs<1>& arcs) { visit(arcs.live[0], arcs.arc[0], arcs.owner[0]); });
}
