// The pull of PageRank over rows of any layout, a warp for each row of one unit and for each unit of longer rows.
//
// Sums do not depend on the schedule: a lane adds up what it is given, a warp its lanes, and a row its units.
//
// Contract: units i64 (vertices) is written by `count_units`. `pull` and `add_units` write sums f64 (vertices) of rows with
// neighbours. long_rows i64 (count) are the rows of several units, and first_unit i64 (count + 1) the exclusive sums of their
// numbers. shares f64 (vertices), parts f64 (first_unit[count]). Any block of whole warps.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh
// variants VERTEX: u32 u64

#include "kernels/layouts/rows.cuh"

__device__ __forceinline__ double sum_of_unit(const Rows& rows, u64 row, u64 unit, const double* shares) {
    double sum = 0;
    visit_unit(rows, row, unit, [&](VERTEX neighbour, bool valid) {
        if (valid) sum += shares[neighbour];
        return true;
    });
    return warp_sum(sum);
}

extern "C" __global__ void count_units(ROWS_PARAMETERS, u64 vertices, i64* units) {
    Rows rows = make_rows(ROWS_ARGUMENTS);
    for (u64 v = global_thread(); v < vertices; v += global_threads()) units[v] = i64(row_units(rows, v));
}

extern "C" __global__ void pull(ROWS_PARAMETERS, u64 vertices, const i64* units, const double* shares, double* sums) {
    Rows rows = make_rows(ROWS_ARGUMENTS);
    for (u64 v = global_thread() / WARP; v < vertices; v += global_threads() / WARP) {
        if (units[v] != 1) continue;
        double sum = sum_of_unit(rows, v, 0, shares);
        if (lane_id() == 0) sums[v] = sum;
    }
}

extern "C" __global__ void pull_units(ROWS_PARAMETERS, const i64* long_rows, const i64* first_unit, u64 count,
                                      const double* shares, double* parts) {
    Rows rows = make_rows(ROWS_ARGUMENTS);
    u64 units = u64(first_unit[count]);
    for (u64 item = global_thread() / WARP; item < units; item += global_threads() / WARP) {
        u64 low = 0, high = count;  // the last row whose units begin at `item` or before
        while (high - low > 1) {
            u64 middle = (low + high) / 2;
            (u64(first_unit[middle]) <= item ? low : high) = middle;
        }
        double sum = sum_of_unit(rows, u64(long_rows[low]), item - u64(first_unit[low]), shares);
        if (lane_id() == 0) parts[item] = sum;
    }
}

extern "C" __global__ void add_units(const i64* long_rows, const i64* first_unit, u64 count, const double* parts, double* sums) {
    for (u64 i = global_thread() / WARP; i < count; i += global_threads() / WARP) {
        double sum = 0;
        for (i64 k = first_unit[i] + lane_id(); k < first_unit[i + 1]; k += WARP) sum += parts[k];
        sum = warp_sum(sum);
        if (lane_id() == 0) sums[long_rows[i]] = sum;
    }
}
