// Up to 64 searches at once in one cooperative launch (Then et al., The More the Merrier: Efficient
// Multi-Source Graph Traversal, PVLDB 8(4), 2014): a word per vertex, a bit per search. An arc is read once
// for all searches whose frontiers hold its tail. The level loop and the choice of direction are on the device.
// See batch.cuh for the state that a batch of searches keeps.
//
// TREE = 0: no predecessors. 32 or 33: predecessor is u32 or u64 (searches, vertices), all ones for none, so
// that the minimum of a level's offers is the smallest. `distance` i32 (searches, vertices) is not written if
// `hops` is 0.
//
// Contract. Rows ascend: row_offsets i64 (vertices + 1) and columns VERTEX, or what their layout says; `weight` is that
// of all. masks u64 (2, vertices), found VERTEX (vertices); queue, offers and owners hold the entries of all rows.
// Dynamic shared memory: where rows are decoded, the lists of sources/decoded.cuh. Block: a multiple of 32 up to
// MAX_BLOCK. Grid: no more blocks than run at the same time.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh
// variants VERTEX: u32 u64
// variants TREE: 0 32 33

#include "kernels/bfs/cuda/batch_claim.cuh"

#if IS_COLUMNS(LAYOUT)
#include "kernels/bfs/cuda/sources/batch_columns.cuh"
#else
#include "kernels/bfs/cuda/sources/batch_encoded.cuh"
#endif
#include "kernels/bfs/cuda/batch_push.cuh"
#include "kernels/bfs/cuda/batch_pull.cuh"

// Words of `log`: levels, changes of direction, then level << 1 | bottom-up for each change.
constexpr u32 LOG_LEVELS = 0, LOG_CHANGES = 1, LOG_FIRST = 2, MAX_CHANGES = 250;

enum Step : u32 { COMMIT, EXPAND, PULL, REST, ENQUEUE, DONE };

extern "C" __global__ void __launch_bounds__(MAX_BLOCK, FEWEST_BLOCKS)
    search(SOURCE_PARAMETERS, u64* masks, i32* distance, Tree* predecessor, VERTEX* found, u64* queue, u64* offers,
           VERTEX* owners, u64* control, u64* log, u64* arrivals, u64 vertices, u64 weight, u64 hops, u64 may_pull,
           u64 max_depth, double alpha, double beta, const i64* sources, u64 searches) {
    __shared__ VERTEX staged[MAX_BLOCK / WARP * STAGE];
    u64 full = searches < 64 ? (1ull << searches) - 1 : ~0ull;
    Batch b{SOURCE, masks,  masks + vertices, distance, predecessor, found, queue,
            offers, owners, control,          vertices, full,        full,  hops != 0};
    for (u64 v = global_thread(); v < 2 * vertices; v += global_threads()) masks[v] = 0;
    if (TREE)
        for (u64 i = global_thread(); i < searches * vertices; i += global_threads()) predecessor[i] = ~Tree(0);
    if (global_thread() < SIDES * CONTROL_WORDS) control[global_thread()] = 0;
    grid_barrier(arrivals);
    if (blockIdx.x == 0) {
        for (u32 i = threadIdx.x; i < searches; i += blockDim.x) {
            VERTEX source = VERTEX(sources[i]);
            if (atomicOr(&b.other[source], 1ull << i) == 0)
                b.found[atomicAdd(&control[FOUND], 1ull)] = source;
        }
    }
    grid_barrier(arrivals);

    u64 count = load_relaxed(&control[FOUND]), entries = 0, pulled = 0, found_live = 0;
    u32 level = 0, changes = 0, pulling = 0;
    Step step = COMMIT;
    for (u32 steps = 1; step != DONE; ++steps) {
        b.control = control + steps % SIDES * CONTROL_WORDS;
        if ((step == EXPAND || step == PULL) && (!changes || pulling != (step == PULL))) {
            pulling = step == PULL;
            if (global_thread() == 0) log[LOG_FIRST + changes] = u64(level) << 1 | pulling;
            ++changes;
        }
        if (step == COMMIT) commit(b, count, i32(level));
        if (step == EXPAND) expand(b, entries, staged);
        if (step == PULL) pull(b, i32(level + 1));
        if (step == REST) pull_rest(b, entries, i32(level + 1));
        if (step == ENQUEUE) enqueue(b);
        grid_barrier(arrivals);
        count = load_relaxed(&b.control[step == EXPAND ? FOUND : VERTICES]);
        u64 frontier_weight = load_relaxed(&b.control[WEIGHT]), live = load_relaxed(&b.control[LIVE]);
        entries = load_relaxed(&b.control[ENTRIES]);
        // The side that the step before this one used, and the step after the next will.
        if (global_thread() < CONTROL_WORDS)
            control[(steps + 2) % SIDES * CONTROL_WORDS + global_thread()] = 0;
        if (step == PULL && entries) {
            pulled = count;
            found_live = live;
            step = REST;
            continue;
        }
        if (step == REST) {
            count += pulled;
            live |= found_live;
            step = PULL;
        }
        // A search that has ended, as in a small component, must not keep every other vertex looking.
        if (step != EXPAND) b.live = live;
        if (step == EXPAND || step == PULL) ++level;
        if (step == PULL) {
            u64* now = b.other;
            b.other = b.seen;
            b.seen = now;
        }
        if (!count || (level >= max_depth && step != EXPAND))
            step = DONE;
        else if (step == EXPAND)
            step = COMMIT;
        else if (step == ENQUEUE)
            step = EXPAND;
        else if (step == COMMIT)
            step = may_pull && changes < MAX_CHANGES && double(frontier_weight) * alpha > double(weight) ? PULL
                                                                                                         : EXPAND;
        else
            step = double(count) * beta < double(vertices) ? ENQUEUE : PULL;
    }
    if (global_thread() == 0) {
        log[LOG_LEVELS] = level;
        log[LOG_CHANGES] = changes;
    }
    for (u64 first = global_thread() - lane_id(); first < vertices; first += global_threads()) {
        u64 v = first + lane_id();
        write_level(b, v, v < vertices ? full & ~b.seen[v] : 0, -1);
    }
}
