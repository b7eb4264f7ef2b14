// Arcs dealt to warps evenly, whatever rows they are of.

#include "kernels/cuda/types.cuh"

constexpr i64 CHUNK = 1024;  // arcs that a warp takes

// Calls visit(row, column) for arcs first <= arc < past of rows low <= row < high, which hold all of them;
// columns[0] is arc `first`.
template <class Visit>
__device__ __forceinline__ void each_arc(const i64* row_offsets, u64 low, u64 high, const VERTEX* columns, i64 first,
                                         i64 past, Visit visit) {
    for (i64 from = first + i64(global_thread() / WARP) * CHUNK; from < past;
         from += i64(global_threads() / WARP) * CHUNK) {
        i64 to = from + CHUNK < past ? from + CHUNK : past;
        u64 row = low, end = high;  // the row that holds `from` is in [row, end)
        while (end - row > 1) {
            u64 middle = (row + end) / 2;
            if (row_offsets[middle] <= from) row = middle;
            else end = middle;
        }
        // Each lane finds its arc's row from that of its last arc on.
        for (i64 i = from + lane_id(); i < to; i += WARP) {
            while (row_offsets[row + 1] <= i) ++row;
            visit(row, columns[i - first]);
        }
    }
}
