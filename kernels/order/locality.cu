// What an order does to the lists: sums over the arcs of sorted rows.
//
// Contract: row_offsets i64 (rows + 1), row r belongs to vertex first + r and is
// columns[row_offsets[r] - row_offsets[0]:]. A warp takes a row, so any block that is a multiple of 32.
//
// variants VERTEX: u32 u64

#include "kernels/cuda/types.cuh"

// sums[0] the largest |u - v|, sums[1] the sum of |u - v|, sums[2] the bytes of the rows as delta-varint; all
// are added to, and begin at 0.
extern "C" __global__ void measure_order(const i64* row_offsets, const VERTEX* columns, u64 rows, u64 first,
                                         u64* sums) {
    u64 farthest = 0, gaps = 0, bytes = 0;
    i64 base = row_offsets[0];
    for (u64 row = global_thread() / WARP; row < rows; row += global_threads() / WARP) {
        i64 begin = row_offsets[row] - base, end = row_offsets[row + 1] - base;
        for (i64 i = begin + lane_id(); i < end; i += WARP) {
            u64 v = columns[i], u = first + row;
            u64 gap = u < v ? v - u : u - v;
            u64 delta = v - (i > begin ? columns[i - 1] : 0);
            farthest = gap > farthest ? gap : farthest;
            gaps += gap;
            bytes += delta ? (70 - __clzll(delta)) / 7 : 1;
        }
    }
    for (u32 step = WARP / 2; step; step /= 2) {
        u64 other = __shfl_xor_sync(ALL_LANES, farthest, step);
        farthest = other > farthest ? other : farthest;
    }
    gaps = warp_sum(gaps);
    bytes = warp_sum(bytes);
    if (lane_id() == 0) {
        atomicMax(&sums[0], farthest);
        atomicAdd(&sums[1], gaps);
        atomicAdd(&sums[2], bytes);
    }
}
