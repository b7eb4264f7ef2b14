// The pull of PageRank over columns: each row adds up what its vertices pass on. A tile of arcs is read by a block, side by
// side whatever rows they are of, into shared memory, where the rows are added up.
//
// Sums do not depend on the schedule. A row of up to SHORT arcs in a tile is added up by a lane in order, a longer one
// by a warp. What a tile has of a row that began in an earlier one is its carry; `add_carries` adds those to the row.
//
// Contract: row_offsets i64 (vertices + 1), columns VERTEX (arcs), weights WEIGHT (arcs) or nothing where WEIGHT is u8.
// first_row i64 (tiles + 1) has the rows that the tiles' first arcs are of, and last that of the last arc. shares f64
// (vertices). sums f64 (vertices) is written for rows with arcs; carries f64 (tiles). Blocks of whole warps.
//
// variants VERTEX: u32 u64
// variants WEIGHT: u8 float double

#include "kernels/cuda/lanes.cuh"

constexpr u32 TILE = 2048;  // gravel.kernels.pagerank.cuda.TILE
constexpr i64 SHORT = 32;

template <class T>
__device__ __forceinline__ double weight_of(const T* weights, i64 arc) {
    return double(weights[arc]);
}

template <>
__device__ __forceinline__ double weight_of<u8>(const u8*, i64) {
    return 1.0;
}

extern "C" __global__ void pull(const i64* row_offsets, const VERTEX* columns, const WEIGHT* weights, u64 arcs,
                                const i64* first_row, u64 tiles, const double* shares, double* sums, double* carries) {
    __shared__ double values[TILE];
    for (u64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        i64 begin = i64(tile * TILE), end = begin + TILE < i64(arcs) ? begin + TILE : i64(arcs);
        u32 count = u32(end - begin);
#pragma unroll 8
        for (u32 i = threadIdx.x; i < count; i += blockDim.x)
            values[i] = shares[columns[begin + i]] * weight_of(weights, begin + i);
        __syncthreads();
        i64 first = first_row[tile], last = first_row[tile + 1] + 1;
        for (i64 group = first + warp_id() * WARP; group < last; group += blockDim.x) {
            i64 row = group + lane_id(), from = 0, to = 0;
            bool began = true;
            if (row < last) {
                i64 row_begin = row_offsets[row], row_end = row_offsets[row + 1];
                began = row_begin >= begin;
                from = began ? row_begin - begin : 0;
                to = (row_end < end ? row_end : end) - begin;
            }
            double sum = 0;
            if (to - from <= SHORT)
                for (i64 k = from; k < to; ++k) sum += values[k];
            for (u32 left = __ballot_sync(ALL_LANES, to - from > SHORT); left;) {
                u32 lane = take_lowest(left);
                i64 low = __shfl_sync(ALL_LANES, from, lane), high = __shfl_sync(ALL_LANES, to, lane);
                double part = 0;
                for (i64 k = low + lane_id(); k < high; k += WARP) part += values[k];
                part = warp_sum(part);
                if (lane_id() == lane) sum = part;
            }
            if (from < to) {
                if (began) sums[row] = sum;
                else carries[tile] = sum;
            }
        }
        __syncthreads();
    }
}

// A warp for each tile; that of the second tile of a row adds all of its carries, after `pull`.
extern "C" __global__ void add_carries(const i64* row_offsets, const i64* first_row, u64 tiles, const double* carries,
                                       double* sums) {
    for (u64 tile = global_thread() / WARP; tile < tiles; tile += global_threads() / WARP) {
        i64 row = first_row[tile], begin = row_offsets[row];
        if (begin >= i64(tile * TILE) || u64(begin) / TILE + 1 != tile) continue;
        u64 last = u64(row_offsets[row + 1] - 1) / TILE;
        double sum = 0;
        for (u64 each = tile + lane_id(); each <= last; each += WARP) sum += carries[each];
        sum = warp_sum(sum);
        if (lane_id() == 0) sums[row] += sum;
    }
}
