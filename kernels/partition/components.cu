// Connected components over the ranks of a partition, in one cooperative launch on each device; the label of a
// vertex is the smallest vertex of its component (see kernels/partition/__init__.py for the layout).
//
// First every rank joins what its own arcs join, delegates included, without a word to the others: of that remain
// trees, each with one label. Then come rounds among the ranks, in which labels only fall:
//
//   publish: every node's label where all ranks can read it; meet everywhere
//   pull:    a delegate's tree takes the smallest of all ranks' labels for it, the tail of an nn arc that leads to
//            another rank the label of its head; meet here
//   settle:  a tree takes its label's label, and lists a hook for the tree of the label that it had; meet everywhere
//   hook:    trees take what any rank has listed for them; meet here
//
// which is FastSV (Zhang, Azad, Hu, SIAM PP 2020) over trees instead of vertices. Peer memory is only read. The
// rounds end when no label fell in one. Without symmetry an nn arc lowers its head as well, by a hook.
//
// A device holds one rank or several, which its grid goes through one after the other.
//
// variants VERTEX: u32 u64
// variants OFFSET: u32 u64

#include "kernels/partition/join.cuh"
#include "kernels/partition/meeting.cuh"
#include "kernels/partition/plant.cuh"

// Words of `log`: rounds, the clock when the last phase ended, and the nanoseconds of each, all its runs together.
// The phases are in kernels/partition/cuda/components_launch.py too.
enum Log : u32 { ROUNDS, LAST, PLANT, PROBE, SHORTEN, CHOOSE, JOIN, FLATTEN, PUBLISH, PULL, SETTLE, HOOK, LOGGED };

__device__ __forceinline__ void start_log(u64* log) {
    if (global_thread() < LOGGED) log[global_thread()] = global_thread() == LAST ? nanoseconds() : 0;
}

// A phase ends when the first block goes on after it.
__device__ __forceinline__ void ends(u64* log, Log phase) {
    if (global_thread()) return;
    u64 now = nanoseconds();
    log[phase] += now - log[LAST];
    log[LAST] = now;
}

// Lower the label of a node's tree; whether it fell. Most nodes are of one tree, whose label a cached load tells: it
// may be older, and so larger, than the label is by now.
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

__device__ __forceinline__ void publish(const Parts& w, const Part& r, bool first) {
    for (u64 i = global_thread(); i < nodes_of(w, r); i += global_threads()) {
        VERTEX label = r.labels[r.parents[i]];
        r.values[i] = label;
        if (first && r.parents[i] == i) r.before[i] = label;
    }
}

__device__ __forceinline__ void pull(const Parts& w, const Part& r, BlockRow& shared, u64 side) {
    bool fell = false;
    for (u64 d = global_thread(); d < w.delegate_count; d += global_threads()) {
        VERTEX least = r.values[d];
        for (u32 from = 0; from < w.rank_count; ++from) {
            if (from == r.rank) continue;
            VERTEX theirs = __ldcv(&w.ranks[from].values[d]);
            least = theirs < least ? theirs : least;
        }
        fell |= lower(r, d, least);
    }
    visit_arcs_by_length(
        shared, r.local,
        [&](u64 i) {
            OFFSET begin = r.nn_offsets[i];
            return RowOf{begin, u32(w.delegate_count + i), u32(r.nn_offsets[i + 1] - begin)};
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

__device__ __forceinline__ void settle(const Parts& w, const Part& r, u64 side) {
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
        fell |= load_system(&w.ranks[from].counts[2 * side + FELL]) != 0;
    return __any_sync(ALL_LANES, fell);
}

extern "C" __global__ void __launch_bounds__(512, 2)
    components(const Part* ranks, const u64* here, const VERTEX* delegates, const Meeting* meeting, u64* log,
               u64 here_count, u64 rank_count, u64 delegate_count, u64 symmetric) {
    __shared__ BlockRow row;
    __shared__ bool falling;
    const Parts w{ranks, here, delegates, here_count, rank_count, delegate_count, symmetric != 0};
    const Meeting& m = *meeting;
    start_log(log);

    for (u32 k = 0; k < here_count; ++k) plant(w, ranks[here[k]]);
    if (!meet(m, false)) return;
    ends(log, PLANT);
    for (u32 k = 0; k < here_count; ++k) probe(w, ranks[here[k]]);
    if (!meet(m, false)) return;
    ends(log, PROBE);
    for (u32 k = 0; k < here_count; ++k) shorten(w, ranks[here[k]]);
    if (!meet(m, false)) return;
    ends(log, SHORTEN);
    for (u32 k = 0; k < here_count && global_thread() < WARP; ++k) choose_giant(w, ranks[here[k]]);
    if (!meet(m, false)) return;
    ends(log, CHOOSE);
    for (u32 k = 0; k < here_count; ++k) {
        const Part& r = ranks[here[k]];
        join_rows(w, r, row, u32(load_relaxed(&r.counts[GIANT])));
    }
    if (!meet(m, false)) return;
    ends(log, JOIN);
    for (u32 k = 0; k < here_count; ++k) flatten(w, ranks[here[k]]);
    if (!meet(m, false)) return;
    ends(log, FLATTEN);

    u64 round = 0;
    while (true) {
        for (u32 k = 0; k < here_count; ++k) publish(w, ranks[here[k]], round == 0);
        if (!meet(m, true)) return;
        ends(log, PUBLISH);
        if (warp_id() == 0) {
            bool more = round ? any_fell(w, (round - 1) % SIDES) : rank_count > 1;
            if (lane_id() == 0) falling = more;
        }
        __syncthreads();
        if (!falling) break;
        u64 side = round % SIDES;
        for (u32 k = 0; k < here_count; ++k) {
            const Part& r = ranks[here[k]];
            // Those of the round after this one, which nobody has read since two rounds before it.
            if (global_thread() < 2) r.counts[2 * ((round + 1) % SIDES) + global_thread()] = 0;
            pull(w, r, row, side);
        }
        if (!meet(m, false)) return;
        ends(log, PULL);
        for (u32 k = 0; k < here_count; ++k) settle(w, ranks[here[k]], side);
        if (!meet(m, true)) return;
        ends(log, SETTLE);
        for (u32 k = 0; k < here_count; ++k) hook(w, ranks[here[k]], side);
        if (!meet(m, false)) return;
        ends(log, HOOK);
        ++round;
    }
    if (global_thread() == 0) log[ROUNDS] = round;
    // Nobody ends while others read what it published.
    meet(m, true);
}
