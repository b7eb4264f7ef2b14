// A rank's checks of components on a GPU: which rows have a neighbour of another label, and a forest of what its arcs
// join, made by itself and joined with those of other ranks.
//
// Contract: labels of all n vertices, VERTEX; vertex v is entry v / ranks of rank v % ranks. Parents of all vertices,
// VERTEX, none larger than its vertex, a root's itself. Offsets are u32, or u64 where the bit of `wide` says so. Any
// block that is a multiple of 32; grids stride.
//
// variants VERTEX: u32 u64
#include "kernels/verify/forest.cuh"
#include "kernels/verify/ranks/offsets.cuh"

// Which rows these are: their vertices, and what columns mean.
enum Kind : u32 { NN, ND, DN, DD };

// A thread for each own vertex: rows of normal vertices are no longer than the threshold.
extern "C" __global__ void unlike_rows(const void* nn_offsets, const VERTEX* nn_columns, const void* nd_offsets,
                                       const u32* nd_columns, u32 wide, const VERTEX* delegates, const VERTEX* labels,
                                       u64 local, u32 rank, u32 ranks, u8* flags) {
    for (u64 own = global_thread(); own < local; own += global_threads()) {
        const VERTEX label = labels[own * ranks + rank];
        bool unlike = false;
        for (u64 arc = offset_at(nn_offsets, wide & 1, own); arc < offset_at(nn_offsets, wide & 1, own + 1); arc++)
            unlike |= labels[nn_columns[arc]] != label;
        for (u64 arc = offset_at(nd_offsets, wide & 2, own); arc < offset_at(nd_offsets, wide & 2, own + 1); arc++)
            unlike |= labels[delegates[nd_columns[arc]]] != label;
        flags[own] = unlike;
    }
}

// A warp for each delegate's row of dn or dd; flags[row] is set where a neighbour has another label.
extern "C" __global__ void unlike_delegates(const void* offsets, const u32* columns, u32 wide, u32 kind,
                                            const VERTEX* delegates, u64 rows, const VERTEX* labels, u32 rank,
                                            u32 ranks, u8* flags) {
    for (u64 row = global_thread() / WARP; row < rows; row += global_threads() / WARP) {
        const VERTEX label = labels[delegates[row]];
        const u64 begin = offset_at(offsets, wide, row), end = offset_at(offsets, wide, row + 1);
        bool unlike = false;
        for (u64 arc = begin + lane_id(); arc < end; arc += WARP) {
            const u64 column = columns[arc], w = kind == DD ? u64(delegates[column]) : column * ranks + rank;
            unlike |= labels[w] != label;
        }
        if (__any_sync(ALL_LANES, unlike) && lane_id() == 0) flags[row] = 1;
    }
}

extern "C" __global__ void plant(VERTEX* parents, u64 n) {
    for (u64 v = global_thread(); v < n; v += global_threads()) parents[v] = VERTEX(v);
}

// A thread for each own vertex, with its row of nn or nd; of an nn edge the smaller end's row is left out.
extern "C" __global__ void join_rows(const void* offsets, const void* columns, u32 wide, u32 kind,
                                     const VERTEX* delegates, u64 rows, u32 rank, u32 ranks, VERTEX* parents) {
    for (u64 row = global_thread(); row < rows; row += global_threads()) {
        const VERTEX v = VERTEX(row * ranks + rank);
        for (u64 arc = offset_at(offsets, wide, row); arc < offset_at(offsets, wide, row + 1); arc++) {
            const VERTEX w = kind == NN ? static_cast<const VERTEX*>(columns)[arc]
                                        : delegates[static_cast<const u32*>(columns)[arc]];
            if (kind != NN || w < v) unite(parents, v, w);
        }
    }
}

// A warp for each delegate's row of dd; of an edge the smaller end's row is left out.
extern "C" __global__ void join_delegates(const void* offsets, const u32* columns, u32 wide, const VERTEX* delegates,
                                          u64 rows, VERTEX* parents) {
    for (u64 row = global_thread() / WARP; row < rows; row += global_threads() / WARP) {
        const u64 end = offset_at(offsets, wide, row + 1);
        for (u64 arc = offset_at(offsets, wide, row) + lane_id(); arc < end; arc += WARP)
            if (columns[arc] < row) unite(parents, delegates[row], delegates[columns[arc]]);
    }
}

// Join `count` vertices from `first` on with the parents that another rank has for them.
extern "C" __global__ void join_received(const VERTEX* received, u64 first, u64 count, VERTEX* parents) {
    for (u64 place = global_thread(); place < count; place += global_threads())
        if (received[place] != first + place) unite(parents, VERTEX(first + place), received[place]);
}

extern "C" __global__ void flatten(VERTEX* parents, u64 n) { point_at_roots(parents, n); }
