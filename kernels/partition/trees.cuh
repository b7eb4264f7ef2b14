// What a rank joins by itself when components are found: a forest over the delegates, nodes 0 and on, and after
// them the rank's own vertices. A root is only hooked under a smaller node, by compare-and-swap while it is a
// root, so no walk runs in circles, and trees grow under delegates, where they meet least (Afforest: Sutton,
// Ben-Nun, Barak, IPDPS 2018).

#include "kernels/partition/by_length.cuh"
#include "kernels/partition/meeting.cuh"

constexpr u32 ARC_TILE = 512;    // arcs of delegates' rows that a warp takes at once
constexpr u32 SAMPLED_ARCS = 2;  // of each row, joined before the largest tree is chosen
constexpr u32 MAJORITY = 16;     // votes of 32 from which on the rows of a tree are skipped
constexpr u32 NO_TREE = ~0u;

// Words of `counts`. Labels that fell and hooks that are listed are counted in SIDES copies, by round.
enum Count : u32 { FELL, HOOKS, GIANT = 6, COUNTS = 8 };
constexpr u32 SIDES = 3;

// The fields, in this order, are in kernels/partition/cuda/components_memory.py too; each takes 8 bytes. Those
// above `rank` are valid for every rank, as peer pointers; the rest only for ranks of this device.
struct Part {
    VERTEX* values;   // (nodes) each node's label when the round began; at the end the labels that are found
    u64* counts;      // (COUNTS)
    VERTEX* hook_at;  // vertices whose tree is to be lowered, wherever they live,
    VERTEX* hook_to;  // and to what
    u64 rank;
    const OFFSET *nn_offsets, *nd_offsets, *dn_offsets, *dd_offsets;
    const VERTEX* nn_columns;
    const u32 *nd_columns, *dn_columns, *dd_columns;
    u32* parents;    // (nodes)
    VERTEX* labels;  // (nodes), of roots
    VERTEX* before;  // (nodes), of roots: the label that others were told last
    u64 local;
};

struct Parts {
    const Part* ranks;
    const u64* here;  // ranks of this device
    const VERTEX* delegates;
    u64 here_count, rank_count, delegate_count;
    bool symmetric;
};

__device__ __forceinline__ u64 nodes_of(const Parts& w, const Part& r) { return w.delegate_count + r.local; }

__device__ __forceinline__ VERTEX vertex_of(const Parts& w, const Part& r, u64 node) {
    return node < w.delegate_count ? w.delegates[node] : VERTEX((node - w.delegate_count) * w.rank_count + r.rank);
}

// The node of a vertex that lives on the rank.
__device__ __forceinline__ u64 node_of(const Parts& w, VERTEX vertex) {
    return w.delegate_count + vertex / w.rank_count;
}

__device__ __forceinline__ u32 parent_of(const u32* parents, u32 node) {
    return *reinterpret_cast<const volatile u32*>(&parents[node]);
}

// Join the trees of two nodes: the larger root under the smaller node that is found on the other side.
__device__ __forceinline__ void link(u32* parents, u32 a, u32 b) {
    u32 p = parent_of(parents, a), q = parent_of(parents, b);
    while (p != q) {
        u32 high = p > q ? p : q, low = p > q ? q : p, above = parent_of(parents, high);
        if (above == low || (above == high && atomicCAS(&parents[high], high, low) == high)) return;
        p = parent_of(parents, above);
        q = parent_of(parents, low);
    }
}

// Every node a tree of its own, but for the own vertices that are delegates: those hang on these.
__device__ __forceinline__ void plant(const Parts& w, const Part& r) {
    for (u64 i = global_thread(); i < nodes_of(w, r); i += global_threads()) r.parents[i] = u32(i);
    if (global_thread() < COUNTS) r.counts[global_thread()] = 0;
}

__device__ __forceinline__ void plant_delegates(const Parts& w, const Part& r) {
    for (u64 d = global_thread(); d < w.delegate_count; d += global_threads())
        if (w.delegates[d] % w.rank_count == r.rank) r.parents[node_of(w, w.delegates[d])] = u32(d);
}

// Point every node at its root, and begin the labels of roots with their own vertices. Each step is stored, so that
// others' walks are cut short.
__device__ __forceinline__ void flatten(const Parts& w, const Part& r, bool labelled) {
    for (u64 i = global_thread(); i < nodes_of(w, r); i += global_threads()) {
        u32 at = parent_of(r.parents, u32(i)), above = parent_of(r.parents, at);
        while (at != above) {
            r.parents[i] = above;
            at = above;
            above = parent_of(r.parents, at);
        }
        if (labelled && at == i) r.labels[i] = vertex_of(w, r, i);
    }
}

// Join the first arcs of every row.
__device__ __forceinline__ void sample(const Parts& w, const Part& r) {
    u32 d = u32(w.delegate_count);
    for (u64 i = global_thread(); i < r.local; i += global_threads()) {
        OFFSET nd = r.nd_offsets[i], nn = r.nn_offsets[i];
        for (u32 k = 0; k < SAMPLED_ARCS && nd + k < r.nd_offsets[i + 1]; ++k)
            link(r.parents, d + u32(i), r.nd_columns[nd + k]);
        for (u32 k = 0; k < SAMPLED_ARCS && nn + k < r.nn_offsets[i + 1]; ++k) {
            VERTEX head = r.nn_columns[nn + k];
            if (head % w.rank_count == r.rank) link(r.parents, d + u32(i), u32(node_of(w, head)));
        }
    }
    for (u64 i = global_thread(); i < w.delegate_count; i += global_threads()) {
        OFFSET dd = r.dd_offsets[i];
        for (u32 k = 0; k < SAMPLED_ARCS && dd + k < r.dd_offsets[i + 1]; ++k)
            link(r.parents, u32(i), r.dd_columns[dd + k]);
    }
}

// The root of most of 32 nodes, or NO_TREE where there is no majority. The first warp of the grid calls it.
__device__ __forceinline__ void choose_giant(const Parts& w, const Part& r) {
    u64 nodes = nodes_of(w, r);
    u64 node = nodes ? __umul64hi((lane_id() + 1) * 0x9E3779B97F4A7C15ull, nodes) : 0;
    // Lone vertices have no arcs to skip.
    for (u32 tries = 0; tries < 16 && nodes && r.parents[node] == node; ++tries) node = (node * 3 + 1) % nodes;
    u32 root = nodes ? r.parents[node] : NO_TREE;
    u32 votes = __popc(__match_any_sync(ALL_LANES, root)), best = votes << 8 | lane_id();
    for (u32 step = WARP / 2; step; step /= 2) {
        u32 other = __shfl_xor_sync(ALL_LANES, best, step);
        best = other > best ? other : best;
    }
    root = __shfl_sync(ALL_LANES, root, best & 0xff);
    if (lane_id() == 0) r.counts[GIANT] = w.symmetric && best >> 8 >= MAJORITY ? root : NO_TREE;
}

// Join the arcs of delegates' rows, cut evenly over the warps; heads begin at node `first`. Rows of the tree that
// is skipped are left out: their arcs that leave it are seen from the other ends.
__device__ __forceinline__ void join_delegates(const Parts& w, const Part& r, const OFFSET* offsets,
                                               const u32* columns, u32 first, u32 giant) {
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
        if (offsets[row + 1] >= end && parent_of(r.parents, u32(row)) == giant) continue;
        for (u64 arc = begin + lane_id(); arc < end; arc += WARP) {
            while (arc >= offsets[row + 1]) ++row;
            if (parent_of(r.parents, u32(row)) != giant) link(r.parents, u32(row), first + columns[arc]);
        }
    }
}

// Join everything that this rank's arcs join here.
__device__ __forceinline__ void join_rows(const Parts& w, const Part& r, BlockRow& shared, u32 giant) {
    u32 d = u32(w.delegate_count);
    join_delegates(w, r, r.dd_offsets, r.dd_columns, 0, giant);
    join_delegates(w, r, r.dn_offsets, r.dn_columns, d, giant);
    auto row = [&](const OFFSET* offsets, u64 i) {
        u32 owner = d + u32(i);
        OFFSET begin = offsets[i];
        return RowOf{begin, owner, parent_of(r.parents, owner) == giant ? 0 : u32(offsets[i + 1] - begin)};
    };
    visit_arcs_by_length(
        shared, r.local,
        [&](u64 i) { return row(r.nd_offsets, i); },
        [&](bool live, u64 arc, u32 owner) {
            if (live) link(r.parents, owner, r.nd_columns[arc]);
        });
    visit_arcs_by_length(
        shared, r.local,
        [&](u64 i) { return row(r.nn_offsets, i); },
        [&](bool live, u64 arc, u32 owner) {
            VERTEX head = live ? r.nn_columns[arc] : VERTEX(0);
            if (live && head % w.rank_count == r.rank) link(r.parents, owner, u32(node_of(w, head)));
        });
}
