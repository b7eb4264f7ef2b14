// A rank's checks of a search on a GPU: what is wrong with its vertices, its normal rows, and what it sees in its
// part of the delegates' rows. The rules and their bits are those of kernels/verify/tree.py and arcs.py.
//
// Contract: levels of all n vertices, i32, -1 unreached; vertex v is entry v / ranks of rank v % ranks. `parents`
// are i64, -1 for none, of the own vertices or of all delegates; they count with `tree` alone. Offsets are u32, or
// u64 where the bit of `wide` says so. Any block that is a multiple of 32; grids stride.
//
// variants VERTEX: u32 u64
#include "kernels/verify/ranks/offsets.cuh"

enum VertexRule : u32 { RANGES = 1, SOURCE = 2, TREE = 4, TREE_LEVELS = 8 };
enum ArcRule : u32 { EDGE_LEVELS = 1, COMPONENT = 2, TREE_ARCS = 4, NEARER = 8 };
enum Seen : u32 { JUMPS = 1, LEAVES = 2, FOUND = 4 };

extern "C" __global__ void vertex_bits(const i32* levels, const i64* parents, u64 n, u64 local, u32 rank, u32 ranks,
                                       u64 source, i64 limit, u32 tree, u8* bits) {
    for (u64 own = global_thread(); own < local; own += global_threads()) {
        const u64 v = own * ranks + rank;
        const i64 level = levels[v], parent = tree ? parents[own] : -1;
        u32 found = 0;
        if (level < -1 || level > limit || parent < -1 || parent >= i64(n)) {
            found = RANGES;
        } else if (v == source) {
            found = level != 0 || parent != -1 ? SOURCE : 0;
        } else if (level == 0) {
            found = SOURCE;
        } else if (tree && (level == -1) != (parent == -1)) {
            found = TREE;
        } else if (tree && level != -1) {
            const i64 above = levels[parent];
            found = above == -1 ? TREE : above != level - 1 ? TREE_LEVELS : 0;
        }
        bits[own] = u8(found);
    }
}

// What one arc from a vertex of a level to w shows.
__device__ __forceinline__ u32 look(i64 level, i64 other, u64 w, i64 parent, bool tree) {
    u32 seen = 0;
    if (other > level + 1 || (other >= 0 && other < level - 1)) seen |= JUMPS;
    if (other < 0) seen |= LEAVES;
    if (tree ? i64(w) == parent : other == level - 1) seen |= FOUND;
    return seen;
}

// A thread for each own vertex: rows of normal vertices are no longer than the threshold.
extern "C" __global__ void normal_bits(const void* nn_offsets, const VERTEX* nn_columns, const void* nd_offsets,
                                       const u32* nd_columns, u32 wide, const VERTEX* delegates, const u8* is_delegate,
                                       const i32* levels, const i64* parents, u64 local, u32 rank, u32 ranks,
                                       i64 deepest, u32 tree, u8* bits) {
    for (u64 own = global_thread(); own < local; own += global_threads()) {
        const i64 level = levels[own * ranks + rank];
        u32 broken = 0;
        if (!is_delegate[own] && level >= 0) {
            const i64 parent = tree ? parents[own] : -1;
            u32 seen = 0;
            for (u64 arc = offset_at(nn_offsets, wide & 1, own); arc < offset_at(nn_offsets, wide & 1, own + 1); arc++) {
                const u64 w = nn_columns[arc];
                seen |= look(level, levels[w], w, parent, tree);
            }
            for (u64 arc = offset_at(nd_offsets, wide & 2, own); arc < offset_at(nd_offsets, wide & 2, own + 1); arc++) {
                const u64 w = delegates[nd_columns[arc]];
                seen |= look(level, levels[w], w, parent, tree);
            }
            if (seen & JUMPS) broken |= EDGE_LEVELS;
            if ((seen & LEAVES) && level < deepest) broken |= COMPONENT;
            if (level > 0 && !(seen & FOUND)) broken |= !tree ? NEARER : parent >= 0 ? TREE_ARCS : 0;
        }
        bits[own] = u8(broken);
    }
}

// A warp for each delegate's row of dn, or of dd (`of_delegates`); flags[row] gains what is seen.
extern "C" __global__ void see_rows(const void* offsets, const u32* columns, u32 wide, u32 of_delegates,
                                    const VERTEX* delegates, u64 rows, const i32* levels, const i64* parents, u32 rank,
                                    u32 ranks, u32 tree, u8* flags) {
    for (u64 row = global_thread() / WARP; row < rows; row += global_threads() / WARP) {
        const i64 level = levels[delegates[row]], parent = tree ? parents[row] : -1;
        const u64 begin = offset_at(offsets, wide, row), end = level < 0 ? begin : offset_at(offsets, wide, row + 1);
        u32 seen = 0;
        for (u64 arc = begin + lane_id(); arc < end; arc += WARP) {
            const u64 column = columns[arc], w = of_delegates ? u64(delegates[column]) : column * ranks + rank;
            seen |= look(level, levels[w], w, parent, tree);
        }
        u32 all = 0;
        if (__any_sync(ALL_LANES, (seen & JUMPS) != 0)) all |= JUMPS;
        if (__any_sync(ALL_LANES, (seen & LEAVES) != 0)) all |= LEAVES;
        if (__any_sync(ALL_LANES, (seen & FOUND) != 0)) all |= FOUND;
        if (lane_id() == 0) flags[row] |= u8(all);
    }
}

// vertices[level] += 1 and arcs[level] += length of its two rows, for every one of `count` that was reached. Levels
// below KEPT are added up in the block first; `sums` has room for all levels twice, vertices before arcs.
constexpr u32 KEPT = 256;

extern "C" __global__ void sum_levels(const i32* levels, const void* offsets, const void* others, u32 wide, u64 count,
                                      u64 depth, u64* sums) {
    __shared__ u64 kept[2 * KEPT];
    for (u32 i = threadIdx.x; i < 2 * KEPT; i += blockDim.x) kept[i] = 0;
    __syncthreads();
    for (u64 row = global_thread(); row < count; row += global_threads()) {
        const i64 level = levels[row];
        if (level < 0) continue;
        const u64 arcs = offset_at(offsets, wide & 1, row + 1) - offset_at(offsets, wide & 1, row) +
                         offset_at(others, wide & 2, row + 1) - offset_at(others, wide & 2, row);
        const bool here = level < KEPT;
        atomicAdd(here ? &kept[level] : &sums[level], 1ull);
        atomicAdd(here ? &kept[KEPT + level] : &sums[depth + level], arcs);
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < KEPT && i < depth; i += blockDim.x) {
        if (kept[i]) atomicAdd(&sums[i], kept[i]);
        if (kept[KEPT + i]) atomicAdd(&sums[depth + i], kept[KEPT + i]);
    }
}
