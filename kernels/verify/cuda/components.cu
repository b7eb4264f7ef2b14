// Checks of component labels: which rows have a neighbour of another label, and which vertices are connected, by a
// union-find that no search uses. The rules are those of kernels/verify/components.py.
//
// Contract: offsets of `rows` rows from vertex `first` on, and columns of their arcs, which begin at offsets[0]; n is
// below 2^31. Parents of all vertices, none larger than its vertex, a root's itself. counts[rule] gains the vertices
// that break a rule; `bits`, unless null, gets those of each vertex. Any block that is a multiple of 32; grids stride.
//
// variants VERTEX: u32 u64
#include "kernels/verify/cuda/integers.cuh"
#include "kernels/verify/cuda/counts.cuh"
#include "kernels/verify/cuda/long_rows.cuh"
#include "kernels/verify/forest.cuh"

enum Rule : u32 { RANGES, SMALLEST, EDGES_AGREE, CONNECTED, NOT_MERGED, WHOLE };

// Labels of a `kind` as 32-bit numbers, 0 where they are no vertices; every vertex its own parent.
extern "C" __global__ void take_labels(const void* given, u32 kind, u64 n, u32* labels, u32* parents, u64* counts,
                                       u8* bits) {
    u32 strange = 0;
    for (u64 v = global_thread(); v < n; v += global_threads()) {
        const i64 label = integer_at(given, kind, v);
        const bool outside = label < 0 || label >= i64(n);
        strange += outside;
        labels[v] = outside ? 0 : u32(label);
        parents[v] = u32(v);
        if (bits) bits[v] = outside ? 1u << RANGES : 0;
    }
    count(counts, RANGES, strange);
}

// A warp's walk along arcs of a vertex; with `half` an edge is joined in the row of its larger end alone.
__device__ __forceinline__ void walk(u32 v, const VERTEX* columns, u64 begin, u64 end, u32 half, const u32* labels,
                                     u32* parents, u8* unlike) {
    const u32 label = labels[v];
    bool other = false;
    for (u64 arc = begin + lane_id(); arc < end; arc += WARP) {
        const u32 w = u32(columns[arc]);
        other |= labels[w] != label;
        if ((w < v || !half) && parent_of(parents, v) != parent_of(parents, w)) unite(parents, v, w);
    }
    if (__any_sync(ALL_LANES, other) && lane_id() == 0) unlike[v] = 1;
}

extern "C" __global__ void join_rows(const i64* offsets, const VERTEX* columns, u64 first, u64 rows, u32 half,
                                     const u32* labels, u32* parents, u8* unlike) {
    for (u64 row = global_thread() / WARP; row < rows; row += global_threads() / WARP) {
        const u64 begin = offsets[row] - offsets[0], end = offsets[row + 1] - offsets[0];
        if (end - begin <= LONG) walk(u32(first + row), columns, begin, end, half, labels, parents, unlike);
    }
}

extern "C" __global__ void join_long_rows(const i64* offsets, const VERTEX* columns, u64 first, const Piece* pieces,
                                          u64 count, u32 half, const u32* labels, u32* parents, u8* unlike) {
    for (u64 i = global_thread() / WARP; i < count; i += global_threads() / WARP) {
        const Piece piece = pieces[i];
        const u64 begin = offsets[piece.row] - offsets[0] + u64(piece.number) * LONG;
        const u64 last = offsets[piece.row + 1] - offsets[0], end = begin + LONG < last ? begin + LONG : last;
        walk(u32(first + piece.row), columns, begin, end, half, labels, parents, unlike);
    }
}

extern "C" __global__ void flatten(u32* parents, u64 n) { point_at_roots(parents, n); }

extern "C" __global__ void check_labels(const u32* labels, const u32* parents, const u8* unlike, u64 n, u64* counts,
                                        u8* bits) {
    u32 odd = 0, unlikes = 0, apart = 0, merged = 0, whole = 0;
    for (u64 v = global_thread(); v < n; v += global_threads()) {
        const u32 label = labels[v], root = parents[v];
        const bool large = label > v || labels[label] != label, elsewhere = root != label;
        const bool joined = parents[label] != root;
        odd += large, unlikes += unlike[v], apart += elsewhere, merged += joined, whole += !elsewhere;
        if (bits) bits[v] = u8(large << SMALLEST | unlike[v] << EDGES_AGREE | elsewhere << CONNECTED | joined << NOT_MERGED);
    }
    count(counts, SMALLEST, odd);
    count(counts, EDGES_AGREE, unlikes);
    count(counts, CONNECTED, apart);
    count(counts, NOT_MERGED, merged);
    count(counts, WHOLE, whole);
}
