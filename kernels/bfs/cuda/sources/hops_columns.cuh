// Rows of a deep graph that are columns; see hops.cuh for what a source says.

#include "kernels/bfs/cuda/wide.cuh"

#define RECORDS_PARAMETERS COLUMNS_PARAMETERS

__device__ __forceinline__ void fill_record(const Rows& rows, u64, i64 begin, u64 degree, VERTEX* record) {
    for (u64 k = 0; k < WIDTH; ++k) record[k] = degree <= WIDTH && k < degree ? rows.columns[begin + k] : NO_VERTEX;
    if (degree > WIDTH) {
        record[1] = VERTEX(degree < LONGEST ? degree : LONGEST);
        record[2] = VERTEX(begin);
        if (sizeof(VERTEX) == 4) record[3] = VERTEX(u64(begin) >> 32);
    }
}

__device__ __forceinline__ u64 begin_of(const Record& record) {
    return u64(record[2]) | (sizeof(VERTEX) == 4 ? u64(record[3]) << 32 : 0);
}

__device__ __forceinline__ u64 degree_of(const Graph& g, VERTEX vertex) {
    return u64(g.rows.row_offsets[vertex + 1] - g.rows.row_offsets[vertex]);
}

__device__ __forceinline__ void read_row(const Graph& g, VERTEX vertex, bool valid, i64& begin, u64& degree) {
    begin = valid ? g.rows.row_offsets[vertex] : 0;
    degree = valid ? u64(g.rows.row_offsets[vertex + 1] - begin) : 0;
}

__device__ __forceinline__ void fill_entries(const Graph& g, const Entries& next, u32 base, u32 mine, u32 upto, u32 total,
                                             i64 begin, u64 degree, VERTEX vertex, VERTEX parent) {
    VERTEX* slots = reinterpret_cast<VERTEX*>(next.records);
    for (u32 first = 0; first < total * WIDTH; first += WARP) {
        u32 k = (first + lane_id()) / WIDTH, from = 0;
#pragma unroll
        for (u32 step = WARP / 2; step; step /= 2)
            if (k >= __shfl_sync(ALL_LANES, upto, from + step - 1)) from += step;
        u64 offset = u64(k - __shfl_sync(ALL_LANES, upto - mine, from)) * WIDTH + lane_id() % WIDTH;
        i64 row = __shfl_sync(ALL_LANES, begin, from);
        u64 arcs = __shfl_sync(ALL_LANES, degree, from);
        Ids ids{__shfl_sync(ALL_LANES, vertex, from), __shfl_sync(ALL_LANES, parent, from)};
        if (k < total) {
            slots[u64(base) * WIDTH + first + lane_id()] = offset < arcs ? g.rows.columns[row + i64(offset)] : NO_VERTEX;
            if (lane_id() % WIDTH == 0) next.ids[base + k] = ids;
        }
    }
}

__device__ __forceinline__ void take_rows(const Graph& g, VERTEX vertex, i64 begin, u32 degree, VERTEX* found, u64* tail,
                                          u32 depth) {
    u32 upto = warp_inclusive_sum(degree), total = __shfl_sync(ALL_LANES, upto, WARP - 1);
    for (u32 k0 = 0; k0 < total; k0 += WARP) {
        u32 k = k0 + lane_id(), from = 0;
#pragma unroll
        for (u32 step = WARP / 2; step; step /= 2)
            if (k >= __shfl_sync(ALL_LANES, upto, from + step - 1)) from += step;
        u32 before = __shfl_sync(ALL_LANES, upto - degree, from);
        i64 row = __shfl_sync(ALL_LANES, begin, from);
        VERTEX owner = __shfl_sync(ALL_LANES, vertex, from);
        VERTEX end = k < total ? g.rows.columns[row + (k - before)] : VERTEX(0);
        append(found, tail, k < total && claim_new(g, end, owner, depth), end);
    }
}

__device__ __forceinline__ void take_row(const Graph& g, VERTEX owner, u64 thread, u64 threads, VERTEX* found, u64* tail,
                                         u32 depth) {
    i64 begin = g.rows.row_offsets[owner], end = g.rows.row_offsets[owner + 1];
    for (i64 base = begin + i64(thread - lane_id()); base < end; base += i64(threads)) {
        bool valid = base + lane_id() < end;
        VERTEX vertex = valid ? g.rows.columns[base + lane_id()] : VERTEX(0);
        append(found, tail, valid && claim_new(g, vertex, owner, depth), vertex);
    }
}
