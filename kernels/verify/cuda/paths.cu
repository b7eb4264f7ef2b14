// What is wrong with one search of shortest paths, by itself and along the arcs. The rules are those of
// kernels/verify/sssp.py; nothing here is of a search.
//
// Lengths are added and compared as EXACT: 64-bit integers, or doubles where distances are such. An unreached vertex
// has -1, or infinity.
//
// Contract: distance DISTANCE (n), predecessor n integers of a `kind` (integers.cuh), 0 where there are none; where
// arcs are passed both are in range. Offsets of `rows` rows from vertex `first` on, columns and weights of their arcs,
// which begin at offsets[0]. faults u32 (n) and has u8 (n) are 0 before the first part of the rows. counts[rule] gains
// the vertices that break a rule; n is below 2^31. Any block that is a multiple of 32; grids stride.
//
// variants VERTEX: u32 u64
// variants DISTANCE: i32 i64 double
// variants WEIGHT: u32 i32 float
#include "kernels/cuda/exact.cuh"
#include "kernels/verify/cuda/counts.cuh"
#include "kernels/verify/cuda/integers.cuh"
#include "kernels/verify/cuda/long_rows.cuh"

template <class T> struct ExactOf { using Type = i64; };
template <> struct ExactOf<double> { using Type = double; };
using EXACT = ExactOf<DISTANCE>::Type;

enum PathRule : u32 { RANGES, TREE, TREE_ARCS, RELAXED, COMPONENT };  // in the order of sssp.py beside this file

__device__ __forceinline__ i64 longer(i64 length, i64 weight) { return i64(u64(length) + u64(weight)); }
__device__ __forceinline__ double longer(double length, double weight) { return length + weight; }

__device__ __forceinline__ bool is_reached(i64 length) { return length >= 0; }
__device__ __forceinline__ bool is_reached(double length) {
    return length - length == 0;  // neither infinite nor NaN
}
__device__ __forceinline__ bool is_strange(i64 length) { return length < -1; }
__device__ __forceinline__ bool is_strange(double length) {
    return is_reached(length) ? length < 0 : !(length > 0);  // NaN is not above 0
}

extern "C" __global__ void path_ranges(const DISTANCE* distance, const void* predecessor, u32 kind, u64 n, u64* counts,
                                       u8* bits) {
    u32 broken = 0;
    for (u64 v = global_thread(); v < n; v += global_threads()) {
        const i64 p = kind ? integer_at(predecessor, kind, v) : -1;
        const bool strange = is_strange(EXACT(distance[v])) || p < -1 || p >= i64(n);
        broken += strange;
        if (strange) bits[v] = 1;
    }
    count(counts, RANGES, broken);
}

// `levels` and `lost` are what vertices.cu found: steps to the source or -1, and not 0 where the way ends elsewhere.
extern "C" __global__ void path_tree(const DISTANCE* distance, const i32* levels, const u8* lost, u32 lost_bit, u64 n,
                                     u64* counts, u8* bits) {
    u32 broken = 0;
    for (u64 v = global_thread(); v < n; v += global_threads()) {
        const bool outside = (lost[v] & lost_bit) || (levels[v] >= 0) != is_reached(EXACT(distance[v]));
        broken += outside;
        if (outside) bits[v] = 1;
    }
    count(counts, TREE, broken);
}

// Arcs of vertex u from begin to end, by a warp.
__device__ __forceinline__ void pass_arcs(u64 u, u64 begin, u64 end, const VERTEX* columns, const WEIGHT* weights,
                                          const DISTANCE* distance, const void* predecessor, u32 kind, u8* has,
                                          u32* faults, u64* counts) {
    const EXACT mine = distance[u];
    const bool reached = is_reached(mine);
    u32 broken = 0;
    // A tree arc may begin where no path does; then the tree is wrong as well, and both are reported.
    if (!reached && !kind) return;
    for (u64 arc = begin + lane_id(); arc < end; arc += WARP) {
        const u64 v = columns[arc];
        const EXACT there = distance[v], length = longer(mine, EXACT(exactly(weights[arc])));
        if (kind && length == there && u64(integer_at(predecessor, kind, v)) == u) has[v] = 1;
        if (!reached) continue;
        if (!is_reached(there)) broken |= 1u << COMPONENT;
        else if (length < there) broken |= 1u << RELAXED;
    }
    broken = __reduce_or_sync(ALL_LANES, broken);
    if (lane_id() || !broken) return;
    // Pieces of a long row may find the same.
    broken &= ~atomicOr(&faults[u], broken);
    for (u32 rule = RELAXED; rule <= COMPONENT; rule++)
        if (broken >> rule & 1) atomicAdd(&counts[rule], 1ull);
}

// A warp for each row that is not a long one.
extern "C" __global__ void path_rows(const i64* offsets, const VERTEX* columns, u64 first, u64 rows,
                                     const WEIGHT* weights, const DISTANCE* distance, const void* predecessor,
                                     u32 kind, u8* has, u32* faults, u64* counts) {
    const i64 base = offsets[0];
    for (u64 row = global_thread() / WARP; row < rows; row += global_threads() / WARP) {
        const u64 begin = offsets[row] - base, end = offsets[row + 1] - base;
        if (end - begin > LONG) continue;
        pass_arcs(first + row, begin, end, columns, weights, distance, predecessor, kind, has, faults, counts);
    }
}

// A warp for each piece of a long row.
extern "C" __global__ void path_long_rows(const i64* offsets, const VERTEX* columns, u64 first, const WEIGHT* weights,
                                          const Piece* pieces, u64 several, const DISTANCE* distance,
                                          const void* predecessor, u32 kind, u8* has, u32* faults, u64* counts) {
    const i64 base = offsets[0];
    for (u64 i = global_thread() / WARP; i < several; i += global_threads() / WARP) {
        const Piece piece = pieces[i];
        const u64 last = offsets[piece.row + 1] - base;
        const u64 begin = offsets[piece.row] - base + u64(piece.number) * LONG;
        const u64 end = begin + LONG < last ? begin + LONG : last;
        pass_arcs(first + piece.row, begin, end, columns, weights, distance, predecessor, kind, has, faults, counts);
    }
}

// Tree edges that no arc was found for.
extern "C" __global__ void path_missing(const void* predecessor, u32 kind, u64 n, const u8* has, u64* counts,
                                        u8* bits) {
    u32 missing = 0;
    for (u64 v = global_thread(); v < n; v += global_threads()) {
        const bool lacks = integer_at(predecessor, kind, v) >= 0 && !has[v];
        missing += lacks;
        if (lacks) bits[v] = 1;
    }
    count(counts, TREE_ARCS, missing);
}
