// The first links of trees: every node hangs on one neighbour, and few more arcs join most of what that left apart
// (kernels/components/cuda/tile.cuh does so in tiles of vertices). The rest is in join.cuh.

#include "kernels/partition/cuda/trees.cuh"

constexpr u32 PROBES = 8;    // arcs at most that a delegate joins which is still a root
constexpr u32 PROBING = 16;  // one in so many warps of other nodes joins an arc

// The node of an nn arc's head if it is here and smaller, else `node` itself.
__device__ __forceinline__ u32 smaller_head(const Parts& w, const Part& r, u32 node, OFFSET arc) {
    VERTEX head = r.nn_columns[arc];
    if (head % w.rank_count != r.rank) return node;
    u32 other = u32(node_of(w, head));
    if (other <= node) return other;
    // Where arcs go both ways its own first head is no larger than this node.
    VERTEX second = w.symmetric ? r.nn_columns[r.nn_offsets[other - w.delegate_count]] : head;
    if (second % w.rank_count != r.rank) return node;
    other = u32(node_of(w, second));
    return other < node ? other : node;
}

// Every node hangs on its first neighbour where that is smaller, as every delegate is for an own vertex: most of all
// trees, without an atomic. Labels of delegates begin with their vertices.
__device__ __forceinline__ void link_first(const Parts& w, const Part& r) {
    if (global_thread() < COUNTS) r.counts[global_thread()] = global_thread() == LEAST ? ~0ull : 0;
    for (u64 d = global_thread(); d < w.delegate_count; d += global_threads()) {
        OFFSET dd = r.dd_offsets[d];
        u32 first = dd < r.dd_offsets[d + 1] ? r.dd_columns[dd] : u32(d);
        if (first > d && w.symmetric) first = r.dd_columns[r.dd_offsets[first]];
        r.parents[d] = first < d ? first : u32(d);
        r.labels[d] = w.delegates[d];
    }
    for (u64 base = global_thread(); base < r.local; base += EACH * global_threads()) {
        OFFSET nd[EACH], nn[EACH], nd_end[EACH], nn_end[EACH];
        u32 parent[EACH];
#pragma unroll
        for (u32 k = 0; k < EACH; ++k) {
            u64 i = base + k * global_threads(), next = i < r.local ? i + 1 : i = r.local;
            nd[k] = r.nd_offsets[i], nd_end[k] = r.nd_offsets[next];
            nn[k] = r.nn_offsets[i], nn_end[k] = r.nn_offsets[next];
        }
#pragma unroll
        for (u32 k = 0; k < EACH; ++k) {
            parent[k] = u32(w.delegate_count + base + k * global_threads());
            if (nd[k] < nd_end[k]) parent[k] = r.nd_columns[nd[k]];
        }
#pragma unroll
        for (u32 k = 0; k < EACH; ++k) {
            u64 i = base + k * global_threads();
            if (i >= r.local) break;
            if (nd[k] == nd_end[k] && nn[k] < nn_end[k]) parent[k] = smaller_head(w, r, parent[k], nn[k]);
            r.parents[w.delegate_count + i] = parent[k];
        }
    }
}

// Own vertices that are delegates hang on these. Then more arcs join what first links left apart: delegates that are
// still roots try until they are none; some others, and own vertices without delegates nearby, join their last arc.
// A few of these put nearly all into one tree where there are delegates; more would queue for its root.
__device__ __forceinline__ void probe(const Parts& w, const Part& r) {
    for (u64 d = global_thread(); d < w.delegate_count; d += global_threads()) {
        if (w.delegates[d] % w.rank_count == r.rank) r.parents[node_of(w, w.delegates[d])] = u32(d);
        if (!w.symmetric) continue;
        bool root = parent_of(r.parents, u32(d)) == d;
        if (!root && d / WARP % PROBING) continue;
        OFFSET begin = r.dd_offsets[d];
        u64 arcs = r.dd_offsets[d + 1] - begin, most = root ? PROBES : 1, asked = arcs < most ? arcs : most;
        for (u64 k = 0; k < asked && (!root || parent_of(r.parents, u32(d)) == d); ++k)
            link(r.parents, u32(d), r.dd_columns[begin + OFFSET(arcs - 1 - arcs * k / asked)], NO_TREE);
    }
    for (u64 i = global_thread(); i < r.local && w.symmetric; i += global_threads()) {
        if (w.delegate_count && i / WARP % PROBING) continue;
        OFFSET end = r.nn_offsets[i + 1];
        u32 node = u32(w.delegate_count + i);
        if (r.parents[node] < w.delegate_count || r.nn_offsets[i] == end) continue;
        VERTEX head = r.nn_columns[end - 1];
        if (head % w.rank_count == r.rank) link(r.parents, node, u32(node_of(w, head)), NO_TREE);
    }
}
