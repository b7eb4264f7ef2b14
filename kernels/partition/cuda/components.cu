// Connected components over the ranks of a partition, in one cooperative launch on each device; the label of a
// vertex is the smallest vertex of its component (see kernels/partition/__init__.py for the layout).
//
// First every rank joins what its own arcs join, delegates included, without a word to the others (first_links.cuh,
// join.cuh): of that remain trees, each with one label. Then come rounds among the ranks, in which labels only fall
// (rounds.cuh). They end when no label fell in one.
//
// A device holds one rank or several, which its grid goes through one after the other.
//
// variants VERTEX: u32 u64
// variants OFFSET: u32 u64

#include "kernels/partition/cuda/join.cuh"
#include "kernels/partition/cuda/first_links.cuh"
#include "kernels/partition/cuda/rounds.cuh"

// Words of `log`: rounds, the clock when the last phase ended, and the nanoseconds of each, all its runs together.
// The phases are in kernels/partition/cuda/components_launch.py too.
enum Log : u32 { ROUNDS, LAST, LINK, PROBE, SHORTEN, CHOOSE, JOIN, FLATTEN, PUBLISH, PULL, SHORTCUT, HOOK, LOGGED };

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

extern "C" __global__ void __launch_bounds__(512, 2)
    components(const Part* ranks, const u64* here, const VERTEX* delegates, const Barrier* barrier, u64* log,
               u64 here_count, u64 rank_count, u64 delegate_count, u64 symmetric) {
    __shared__ BlockRow row;
    __shared__ bool falling;
    __shared__ u64 least;
    const Parts w{ranks, here, delegates, here_count, rank_count, delegate_count, symmetric != 0};
    const Barrier& m = *barrier;
    if (threadIdx.x == 0) open_barrier(m);
    start_log(log);

    for (u32 k = 0; k < here_count; ++k) link_first(w, ranks[here[k]]);
    if (!synchronise(m, false)) return;
    ends(log, LINK);
    for (u32 k = 0; k < here_count; ++k) probe(w, ranks[here[k]]);
    if (!synchronise(m, false)) return;
    ends(log, PROBE);
    for (u32 k = 0; k < here_count; ++k) shorten(w, ranks[here[k]]);
    if (!synchronise(m, false)) return;
    ends(log, SHORTEN);
    for (u32 k = 0; k < here_count && global_thread() < WARP; ++k) choose_giant(w, ranks[here[k]]);
    if (!synchronise(m, false)) return;
    ends(log, CHOOSE);
    for (u32 k = 0; k < here_count; ++k) {
        const Part& r = ranks[here[k]];
        join_rows(w, r, row, u32(load_relaxed(&r.counts[GIANT])));
    }
    if (!synchronise(m, false)) return;
    ends(log, JOIN);
    for (u32 k = 0; k < here_count; ++k) flatten(w, ranks[here[k]]);
    if (!synchronise(m, false)) return;
    ends(log, FLATTEN);

    u64 round = 0;
    while (true) {
        for (u32 k = 0; k < here_count; ++k) publish(w, ranks[here[k]], round == 0);
        if (!synchronise(m, true)) return;
        ends(log, PUBLISH);
        if (warp_id() == 0) {
            bool more = round ? any_fell(w, (round - 1) % SIDES) : rank_count > 1;
            if (lane_id() == 0) falling = more;
            u64 told = round ? 0 : least_told(w);
            if (lane_id() == 0 && !round) least = told;
        }
        __syncthreads();
        if (!falling) break;
        u64 side = round % SIDES;
        for (u32 k = 0; k < here_count; ++k) {
            const Part& r = ranks[here[k]];
            // Those of the round after this one, which nobody has read since two rounds before it.
            if (global_thread() < 2) r.counts[2 * ((round + 1) % SIDES) + global_thread()] = 0;
            pull_delegates(w, r, side);
        }
        if (!synchronise(m, false)) return;
        for (u32 k = 0; k < here_count; ++k) pull_arcs(w, ranks[here[k]], row, side, least);
        if (!synchronise(m, false)) return;
        ends(log, PULL);
        for (u32 k = 0; k < here_count; ++k) shortcut(w, ranks[here[k]], side);
        if (!synchronise(m, true)) return;
        ends(log, SHORTCUT);
        for (u32 k = 0; k < here_count; ++k) hook(w, ranks[here[k]], side);
        if (!synchronise(m, false)) return;
        ends(log, HOOK);
        ++round;
    }
    if (global_thread() == 0) log[ROUNDS] = round;
    // Nobody ends while others read what it published.
    synchronise(m, true);
}
