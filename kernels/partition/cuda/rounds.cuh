// Rounds among the ranks, after each has joined what its own arcs join; labels of trees only fall in them.
//
//   publish: every node's label where all ranks can read it; synchronise everywhere
//   pull:    a delegate's tree takes the smallest of all ranks' labels for it, the tail of an nn arc that leads to
//            another rank the label of its head, with a barrier here between; synchronise here
//   shortcut:  a tree takes its label's label, and lists a hook for the tree of the label that it had; synchronise everywhere
//   hook:    trees take what any rank has listed for them; synchronise here
//
// which is FastSV (Zhang, Azad, Hu, SIAM PP 2020) over trees instead of vertices. Peer memory is only read.
// Without symmetry an nn arc lowers its head as well, by a hook.

#include "kernels/partition/cuda/by_length.cuh"
#include "kernels/partition/cuda/device_barrier.cuh"
#include "kernels/partition/cuda/trees.cuh"

// Lower the label of a node's tree; whether it fell.
__device__ __forceinline__ bool lower(const Part& r, u64 node, VERTEX label) {
    u32 root = r.parents[node];
    return label < r.labels[root] && atomicMin(&r.labels[root], label) > label;
}

// What a vertex of any rank had for a label when the round began.
__device__ __forceinline__ VERTEX published(const Parts& w, VERTEX vertex) {
    return __ldcv(&w.ranks[vertex % w.rank_count].values[node_of(w, vertex)]);
}

// Note that labels fell, once for a block; all its threads call it.
__device__ __forceinline__ void note(const Part& r, u64 side, bool fell) {
    if (__syncthreads_or(fell) && threadIdx.x == 0) atomicAdd(&r.counts[2 * side + FELL], 1ull);
}

// List a hook of each lane for which `hooks` is true; whole warps call it.
__device__ __forceinline__ void list_hooks(const Part& r, u64 side, bool hooks, VERTEX at, VERTEX to) {
    u32 all = __ballot_sync(ALL_LANES, hooks);
    if (!all) return;
    u64 place = 0;
    if (lane_id() == 0) place = atomicAdd(&r.counts[2 * side + HOOKS], u64(__popc(all)));
    place = __shfl_sync(ALL_LANES, place, 0) + __popc(all & lanes_below());
    if (!hooks) return;
    r.hook_at[place] = at;
    r.hook_to[place] = to;
}

// The smallest label of a node of the rank that others may come to hear of, which all but lone vertices are.
__device__ __forceinline__ void tell_least(const Part& r, u64 least) {
    for (u32 step = WARP / 2; step; step /= 2) {
        u64 other = __shfl_xor_sync(ALL_LANES, least, step);
        least = other < least ? other : least;
    }
    if (lane_id() == 0 && least < load_relaxed(&r.counts[LEAST])) atomicMin(&r.counts[LEAST], least);
}

__device__ __forceinline__ void publish(const Parts& w, const Part& r, bool first) {
    u64 nodes = nodes_of(w, r), least = ~0ull;
    for (u64 base = global_thread(); base < nodes; base += EACH * global_threads()) {
        u32 root[EACH];
        VERTEX label[EACH];
#pragma unroll
        for (u32 k = 0; k < EACH; ++k) {
            u64 i = base + k * global_threads();
            root[k] = r.parents[i < nodes ? i : base];
        }
#pragma unroll
        for (u32 k = 0; k < EACH; ++k) label[k] = r.labels[root[k]];
#pragma unroll
        for (u32 k = 0; k < EACH; ++k) {
            u64 i = base + k * global_threads();
            if (i >= nodes) break;
            r.values[i] = label[k];
            if (first && root[k] == i) r.before[i] = label[k];
            if (!first || label[k] >= least) continue;
            bool lone = root[k] == i && i >= w.delegate_count &&
                        r.nn_offsets[i - w.delegate_count] == r.nn_offsets[i - w.delegate_count + 1];
            if (!lone) least = label[k];
        }
    }
    if (first && w.rank_count > 1) tell_least(r, least);
}

// The smallest label that any rank told of, below which none ever falls; the first warp calls it.
__device__ __forceinline__ u64 least_told(const Parts& w) {
    u64 least = ~0ull;
    for (u32 from = lane_id(); from < w.rank_count; from += WARP) {
        u64 told = load_relaxed_system(&w.ranks[from].counts[LEAST]);
        least = told < least ? told : least;
    }
    for (u32 step = WARP / 2; step; step /= 2) {
        u64 other = __shfl_xor_sync(ALL_LANES, least, step);
        least = other < least ? other : least;
    }
    return least;
}

__device__ __forceinline__ void pull_delegates(const Parts& w, const Part& r, u64 side) {
    bool fell = false;
    for (u64 base = global_thread() - lane_id(); base < w.delegate_count; base += global_threads()) {
        u64 d = base + lane_id();
        bool live = d < w.delegate_count;
        VERTEX own = live ? r.values[d] : VERTEX(0), least = own;
        for (u32 from = 0; live && from < w.rank_count; ++from) {
            if (from == r.rank) continue;
            VERTEX theirs = __ldcv(&w.ranks[from].values[d]);
            least = theirs < least ? theirs : least;
        }
        fell |= lower_labels(r, least < own, live ? r.parents[d] : 0, least);
    }
    note(r, side, fell);
}

// Where arcs go both ways those whose tail has the least label are left to the other end, which most often has it too.
__device__ __forceinline__ void pull_arcs(const Parts& w, const Part& r, BlockRow& shared, u64 side, u64 least) {
    bool fell = false;
    visit_arcs_by_length(
        shared, r.local,
        [&](u64 i) {
            u32 owner = u32(w.delegate_count + i);
            if (w.symmetric && r.labels[r.parents[owner]] == least) return RowOf{0, owner, 0};
            OFFSET begin = r.nn_offsets[i];
            return RowOf{begin, owner, u32(r.nn_offsets[i + 1] - begin)};
        },
        [&](bool live, u64 arc, u32 owner) {
            VERTEX head = live ? r.nn_columns[arc] : VERTEX(0);
            bool away = live && head % w.rank_count != r.rank;
            VERTEX theirs = away ? published(w, head) : VERTEX(0);
            if (away) fell |= lower(r, owner, theirs);
            if (w.symmetric) return;
            VERTEX own = away ? r.values[owner] : VERTEX(0);
            list_hooks(r, side, away && own < theirs, head, own);
        });
    note(r, side, fell);
}

__device__ __forceinline__ void shortcut(const Parts& w, const Part& r, u64 side) {
    bool fell = false;
    u64 nodes = nodes_of(w, r);
    for (u64 base = global_thread() - lane_id(); base < nodes; base += global_threads()) {
        u64 i = base + lane_id();
        bool hooks = false;
        VERTEX old = 0, now = 0;
        if (i < nodes && r.parents[i] == i && (now = r.labels[i]) != vertex_of(w, r, i)) {
            old = r.before[i];
            VERTEX above = published(w, now);
            if (above < now) {
                r.labels[i] = now = above;
                fell = true;
            }
            // The label that a tree had may be a vertex of its own.
            hooks = now < old && !(old % w.rank_count == r.rank && r.parents[node_of(w, old)] == i);
            r.before[i] = now;
        }
        list_hooks(r, side, hooks, old, now);
    }
    note(r, side, fell);
}

__device__ __forceinline__ void hook(const Parts& w, const Part& r, u64 side) {
    bool fell = false;
    for (u32 from = 0; from < w.rank_count; ++from) {
        const Part& sender = w.ranks[from];
        u64 listed = __ldcv(&sender.counts[2 * side + HOOKS]);
        for (u64 i = global_thread(); i < listed; i += global_threads()) {
            VERTEX at = __ldcv(&sender.hook_at[i]);
            if (at % w.rank_count == r.rank) fell |= lower(r, node_of(w, at), __ldcv(&sender.hook_to[i]));
        }
    }
    note(r, side, fell);
}

// Whether any label fell on any rank; the first warp calls it.
__device__ __forceinline__ bool any_fell(const Parts& w, u64 side) {
    bool fell = false;
    for (u32 from = lane_id(); from < w.rank_count; from += WARP)
        fell |= load_relaxed_system(&w.ranks[from].counts[2 * side + FELL]) != 0;
    return __any_sync(ALL_LANES, fell);
}
