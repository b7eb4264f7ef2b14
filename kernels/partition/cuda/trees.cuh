// What a rank joins by itself when components are found: a forest over the delegates, nodes 0 and on, and after
// them the rank's own vertices. Trees grow under delegates, where they meet least (Afforest: Sutton, Ben-Nun,
// Barak, IPDPS 2018).
//
// A root is only hooked under a smaller node, by compare-and-swap while it is a root, so no walk runs in circles. A
// walk stores grandparents on its way (path halving); who is no root any more is written by such stores alone, each
// an ancestor, so they need no atomics (Jayanti, Tarjan, PODC 2016, section 3).

#include "kernels/cuda/types.cuh"

constexpr u32 EACH = 4;  // nodes of a thread whose loads are under way at the same time
constexpr u32 NO_TREE = ~0u;

// Words of `counts`. Labels that fell and hooks that are listed are counted in SIDES copies, by round.
enum Count : u32 { FELL, HOOKS, GIANT = 6, LEAST = 7, COUNTS = 8 };
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

// The root above a node, or `giant` if the walk meets it.
__device__ __forceinline__ u32 top_of(u32* parents, u32 at, u32 giant) {
    while (true) {
        u32 above = parent_of(parents, at);
        if (above == at || above == giant) return above;
        u32 next = parent_of(parents, above);
        if (next == above) return next;
        parents[at] = next;
        if (next == giant) return next;
        at = next;
    }
}

// Join the trees of two nodes: the larger root under the smaller.
__device__ __forceinline__ void link(u32* parents, u32 a, u32 b, u32 giant) {
    a = top_of(parents, a, giant);
    b = top_of(parents, b, giant);
    while (a != b) {
        u32 high = a > b ? a : b, low = a > b ? b : a;
        u32 held = atomicCAS(&parents[high], high, low);
        if (held == high) return;
        a = top_of(parents, held, giant);
        b = top_of(parents, low, giant);
    }
}

// Whether a node was in the tree that is skipped when it was chosen. Its walk is short then, and never led past, so
// cached loads tell: many nodes hang on few delegates, and reading these past the caches again and again would queue.
__device__ __forceinline__ bool in_giant(const u32* parents, u32 node, u32 giant) {
    u32 above = parents[node];
    return above == giant || parents[above] == giant;
}

// The root above a node of trees that nobody joins meanwhile; each step is stored at `node`, so that others' walks
// are cut short. A root is read through the cache, since most nodes are of one tree and would queue for it.
__device__ __forceinline__ u32 walk(u32* parents, u32 node, u32 at) {
    if (parents[at] == at) return at;
    for (u32 above; (above = parent_of(parents, at)) != at; at = above) parents[node] = above;
    return at;
}

// Point nodes at their roots; own vertices that hang on a delegate are left to the delegate.
__device__ __forceinline__ void shorten(const Parts& w, const Part& r) {
    for (u64 base = global_thread(); base < nodes_of(w, r); base += EACH * global_threads()) {
        u32 at[EACH];
#pragma unroll
        for (u32 k = 0; k < EACH; ++k) {
            u64 i = base + k * global_threads();
            at[k] = i < nodes_of(w, r) ? r.parents[i] : u32(i);
        }
#pragma unroll
        for (u32 k = 0; k < EACH; ++k) {
            u64 i = base + k * global_threads();
            if (at[k] != i && (at[k] >= w.delegate_count || i < w.delegate_count)) walk(r.parents, u32(i), at[k]);
        }
    }
}

// Lower the label of one tree for each lane; whether any fell that this lane lowered. Most nodes are of one tree: its
// label, which a cached load tells, may be older and so larger than it is by now, and a warp lowers it once. Whole
// warps call it.
__device__ __forceinline__ bool lower_labels(const Part& r, bool lowers, u32 root, VERTEX label) {
    lowers = lowers && label < r.labels[root];
    u32 all = __ballot_sync(ALL_LANES, lowers);
    if (!all) return false;
    u32 first = __ffs(all) - 1;
    bool same = __shfl_sync(ALL_LANES, root, first) == root && lowers;
    VERTEX least = same ? label : VERTEX(~VERTEX(0));
    for (u32 step = WARP / 2; step; step /= 2) {
        VERTEX other = __shfl_xor_sync(ALL_LANES, least, step);
        least = other < least ? other : least;
    }
    if (same) label = least;
    if (!lowers || (same && lane_id() != first)) return false;
    return atomicMin(&r.labels[root], label) > label;
}

// Point every node at its root. The label of a tree is its smallest vertex: of a delegate's, that of the root or an
// own vertex below it; of others, that of the root.
__device__ __forceinline__ void flatten(const Parts& w, const Part& r) {
    u64 nodes = nodes_of(w, r);
    for (u64 base = global_thread() - lane_id(); base < nodes; base += EACH * global_threads()) {
        u32 before[EACH], root[EACH];
#pragma unroll
        for (u32 k = 0; k < EACH; ++k) {
            u64 i = base + k * global_threads() + lane_id();
            before[k] = i < nodes ? r.parents[i] : 0;
        }
        // Through the cache, since most nodes hang on few delegates; whatever it holds is an ancestor.
#pragma unroll
        for (u32 k = 0; k < EACH; ++k) root[k] = r.parents[before[k]];
#pragma unroll
        for (u32 k = 0; k < EACH; ++k) {
            u64 i = base + k * global_threads() + lane_id();
            bool own = i < nodes && i >= w.delegate_count;
            if (i < nodes && root[k] != before[k]) {
                r.parents[i] = root[k];
                root[k] = walk(r.parents, u32(i), root[k]);
            }
            VERTEX vertex = own ? vertex_of(w, r, i) : VERTEX(0);
            if (own && root[k] == i) r.labels[i] = vertex;
            lower_labels(r, own && root[k] < w.delegate_count, root[k], vertex);
        }
    }
}
