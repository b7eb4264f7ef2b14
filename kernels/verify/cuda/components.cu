// Checks of component labels: which rows have a neighbour of another label, and which vertices are connected, by a
// union-find of this file's own. The rules are those of kernels/verify/components.py.
//
// Contract: offsets of `rows` rows from vertex `first` on, and columns of their arcs, which begin at offsets[0]; n is
// below 2^31. Parents of all vertices, none larger than its vertex, a root's itself. counts[rule] gains the vertices
// that break a rule; `bits`, unless null, gets those of each vertex. Any block that is a multiple of 32; grids stride.
//
// variants VERTEX: u32 u64
#include "kernels/cuda/types.cuh"
#include "kernels/verify/cuda/integers.cuh"
#include "kernels/verify/cuda/long_rows.cuh"

enum Rule : u32 { RANGES, SMALLEST, EDGES_AGREE, CONNECTED, NOT_MERGED, WHOLE };

__device__ __forceinline__ void count(u32 broken, u32 rule, u64* counts) {
    const u32 sum = warp_sum(broken);
    if (lane_id() == 0 && sum) atomicAdd(&counts[rule], u64(sum));
}

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
    count(strange, RANGES, counts);
}

__device__ __forceinline__ u32 parent_of(const u32* parents, u32 v) {
    return *reinterpret_cast<const volatile u32*>(&parents[v]);
}

// The root above a vertex, with every vertex on the way pointed two steps up: one that is no root stays none, so that
// nothing is lost where two threads do so at once.
__device__ __forceinline__ u32 root_of(u32* parents, u32 v) {
    u32 above = parent_of(parents, v);
    while (above != v) {
        const u32 further = parent_of(parents, above);
        if (further != above) *reinterpret_cast<volatile u32*>(&parents[v]) = further;
        v = further;
        above = parent_of(parents, v);
    }
    return v;
}

// Put the larger of two roots under the smaller.
__device__ __forceinline__ void unite(u32* parents, u32 a, u32 b) {
    if (parent_of(parents, a) == parent_of(parents, b)) return;
    while (true) {
        a = root_of(parents, a), b = root_of(parents, b);
        if (a == b) return;
        const u32 high = a > b ? a : b, low = a > b ? b : a;
        if (atomicCAS(&parents[high], high, low) == high) return;
    }
}

// A warp's walk along arcs of a vertex; with `half` an edge is joined in the row of its larger end alone.
__device__ __forceinline__ void walk(u32 v, const VERTEX* columns, u64 begin, u64 end, u32 half, const u32* labels,
                                     u32* parents, u8* unlike) {
    const u32 label = labels[v];
    bool other = false;
    for (u64 arc = begin + lane_id(); arc < end; arc += WARP) {
        const u32 w = u32(columns[arc]);
        other |= labels[w] != label;
        if (w < v || !half) unite(parents, v, w);
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

// Point every vertex at its root. Only a vertex's own thread writes its parent, or an older one might come last.
extern "C" __global__ void flatten(u32* parents, u64 n) {
    for (u64 v = global_thread(); v < n; v += global_threads()) {
        u32 at = parent_of(parents, u32(v)), above = parent_of(parents, at);
        while (at != above) {
            *reinterpret_cast<volatile u32*>(&parents[v]) = above;
            at = above;
            above = parent_of(parents, at);
        }
    }
}

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
    count(odd, SMALLEST, counts);
    count(unlikes, EDGES_AGREE, counts);
    count(apart, CONNECTED, counts);
    count(merged, NOT_MERGED, counts);
    count(whole, WHOLE, counts);
}
