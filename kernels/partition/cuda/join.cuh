// The largest tree is chosen, and whatever hangs on none or on another joins all its arcs.

#include "kernels/partition/cuda/by_length.cuh"
#include "kernels/partition/cuda/trees.cuh"

constexpr u32 ARC_TILE = 512;  // arcs of delegates' rows that a warp takes at once
constexpr u32 MAJORITY = 16;   // votes of 32 from which on the rows of a tree are skipped

// The root of most of 32 nodes, or NO_TREE where there is no majority. The first warp of the grid calls it.
__device__ __forceinline__ void choose_giant(const Parts& w, const Part& r) {
    u64 nodes = nodes_of(w, r);
    u64 node = nodes ? __umul64hi((lane_id() + 1) * 0x9E3779B97F4A7C15ull, nodes) : 0;
    // Lone vertices have no arcs to skip.
    for (u32 tries = 0; tries < 16 && nodes && r.parents[node] == node; ++tries) node = (node * 3 + 1) % nodes;
    u32 root = nodes ? top_of(r.parents, u32(node), NO_TREE) : NO_TREE;
    u32 votes = __popc(__match_any_sync(ALL_LANES, root)), best = votes << 8 | lane_id();
    for (u32 step = WARP / 2; step; step /= 2) {
        u32 other = __shfl_xor_sync(ALL_LANES, best, step);
        best = other > best ? other : best;
    }
    root = __shfl_sync(ALL_LANES, root, best & 0xff);
    if (lane_id() == 0) r.counts[GIANT] = w.symmetric && best >> 8 >= MAJORITY ? root : NO_TREE;
}

// Join all arcs of delegates' rows, cut evenly over the warps; heads begin at node `first`. With `once` only those
// to smaller heads.
__device__ __forceinline__ void join_delegates(const Parts& w, const Part& r, const OFFSET* offsets,
                                               const u32* columns, u32 first, bool once) {
    u64 rows = w.delegate_count, arcs = rows ? u64(offsets[rows]) : 0;
    for (u64 begin = global_thread() / WARP * ARC_TILE; begin < arcs; begin += global_threads() / WARP * ARC_TILE) {
        u64 end = begin + ARC_TILE < arcs ? begin + ARC_TILE : arcs;
        // The last row that begins at or before the tile.
        u64 row = 0, high = rows;
        while (high - row > 1) {
            u64 middle = (row + high) / 2;
            if (offsets[middle] <= begin)
                row = middle;
            else
                high = middle;
        }
        for (u64 arc = begin + lane_id(); arc < end; arc += WARP) {
            while (arc >= offsets[row + 1]) ++row;
            u32 head = first + columns[arc];
            if (!once || head < row) link(r.parents, u32(row), head, NO_TREE);
        }
    }
}

// Join everything that this rank's arcs join here. Rows of the tree that is skipped are left out: their arcs that
// leave it are seen from the other ends. Where arcs go both ways and none is skipped each edge is joined once.
__device__ __forceinline__ void join_rows(const Parts& w, const Part& r, BlockRow& shared, u32 giant) {
    u32 d = u32(w.delegate_count);
    bool once = w.symmetric && giant == NO_TREE;
    auto visit_rows = [&](const OFFSET* offsets, u64 count, u32 first, const auto& head_of) {
        visit_arcs_by_length(
            shared, count,
            [&](u64 i) {
                u32 owner = first + u32(i);
                OFFSET begin = offsets[i], end = offsets[i + 1];
                return RowOf{begin, owner, in_giant(r.parents, owner, giant) ? 0 : u32(end - begin)};
            },
            [&](bool live, u64 arc, u32 owner) {
                u32 head = live ? head_of(arc, owner) : owner;
                if (head != owner && !(once && head > owner)) link(r.parents, owner, head, giant);
            });
    };
    if (giant == NO_TREE) {
        join_delegates(w, r, r.dd_offsets, r.dd_columns, 0, once);
        if (!once) join_delegates(w, r, r.dn_offsets, r.dn_columns, d, false);
    } else {
        visit_rows(r.dd_offsets, d, 0, [&](u64 arc, u32) { return r.dd_columns[arc]; });
        visit_rows(r.dn_offsets, d, 0, [&](u64 arc, u32) { return d + r.dn_columns[arc]; });
    }
    visit_rows(r.nd_offsets, r.local, d, [&](u64 arc, u32) { return r.nd_columns[arc]; });
    visit_rows(r.nn_offsets, r.local, d, [&](u64 arc, u32 owner) {
        VERTEX head = r.nn_columns[arc];
        return head % w.rank_count == r.rank ? u32(node_of(w, head)) : owner;
    });
}
