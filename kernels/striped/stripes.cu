// Breadth-first search over a striped graph, all levels in one cooperative launch on each device (Merrill, Garland,
// Grimshaw, PPoPP 2012, section 6; see kernels/striped/__init__.py for the layout).
//
// A device holds one rank or several, which its grid goes through one after the other. A level is: expand the own
// frontier, filter it and partition it into bins; synchronise everywhere, which ends the search if no rank has a frontier or
// anything in a bin; contract the own bins and those of the peers; synchronise here. As in the paper, one barrier of all
// devices a level is enough, since bins are never overwritten (stripe.cuh).
//
// variants VERTEX: u32 u64
// variants OFFSET: u32 u64
// variants TREE: 0 32 33

#include "kernels/striped/contract.cuh"
#include "kernels/striped/expand.cuh"

constexpr u32 MAX_HERE = 16;  // ranks of a device

// Words of `log`: levels, then for each of the first levels a record: nanoseconds of expanding, of waiting, of
// contracting and of waiting again; then of each rank here frontier, arcs, duplicates, masked, newly visited, and what its
// bins got. What is deeper than there are records is added to the last: the host repeats such a search with more.
constexpr u32 FIRST_LEVEL = 1, TIMES = 4;
enum Of : u32 { OF_FRONTIER, OF_ARCS, OF_NEW = 4, OF_BINS };

__device__ __forceinline__ void clear(const World& w, const Stripe& r, u64 source) {
    bool owns = source % w.rank_count == r.rank;
    u64 local = source / w.rank_count, ranks = w.rank_count;
    for (u64 i = global_thread(); i < r.local; i += global_threads()) {
        bool first = owns && i == local;
        if (TREE)
            r.keys[i] = first ? make_key(0, NO_PREDECESSOR) : UNREACHED;
        else
            r.distance[i] = first ? 0 : -1;
    }
    if (r.bitmask)
        for (u64 word = global_thread(); word * 32 < w.vertices; word += global_threads())
            r.bitmask[word] = owns && word == source >> 5 ? 1u << (source & 31) : 0;
    fill(r.counts, SIDES * (KEPT + ranks), 0ull);
    for (u64 i = global_thread(); i < ranks; i += global_threads()) {
        r.sent[i] = 0;
        r.came[i] = w.stripes[i].bin_start[r.rank];
    }
    if (global_thread() == 0) {
        bool huge = owns && u64(r.row_offsets[local + 1] - r.row_offsets[local]) > w.longest;
        if (owns) r.queue[0] = u32(local);
        if (huge) r.huge[0] = u32(local);
        r.tails[QUEUED] = owns;
        r.tails[LISTED_HUGE] = huge;
    }
}

// Whether any rank has a frontier (1) and anything in a bin (2). The first warp calls it.
__device__ __forceinline__ u32 goes_on(const World& w, u64 level) {
    u64 words = KEPT + w.rank_count, frontier = 0, kept = 0;
    for (u64 i = lane_id(); i < w.rank_count * words; i += WARP) {
        u64 count = load_relaxed_system(&w.stripes[i / words].counts[w.side(level) + i % words]);
        (i % words == FRONTIER ? frontier : kept) += count;
    }
    return (__any_sync(ALL_LANES, frontier != 0) ? 1 : 0) | (__any_sync(ALL_LANES, kept != 0) ? 2 : 0);
}

extern "C" __global__ void __launch_bounds__(256, 3)
    search(const Stripe* stripes, const u64* here, const Barrier* barrier, u64* log, u64 here_count, u64 rank_count,
           u64 vertices, u64 parts, u64 history, u64 gathers, u64 longest, u64 logged, u64 source, u64 max_depth) {
    __shared__ Expansion shared;
    __shared__ Window windows[MAX_HERE];
    __shared__ u32 answer;
    const World w{stripes, here, here_count, rank_count, vertices, longest};
    const Barrier& m = *barrier;
    if (threadIdx.x == 0) open_barrier(m);
    const GatherWay way = gather_way(u32(gathers));
    u64 per_rank = OF_BINS + rank_count, words = TIMES + here_count * per_rank;

    if (parts & LOOK_HISTORY) Culling{shared.history, shared.winners}.clear();
    fill(log, FIRST_LEVEL + words, 0ull);
    for (u32 k = 0; k < here_count; ++k) clear(w, stripes[here[k]], source);
    for (u32 k = threadIdx.x; k < here_count; k += blockDim.x) windows[k] = Window{0, 0, 0, 0};
    if (!synchronise(m, false)) return;
    for (u32 k = threadIdx.x; k < here_count; k += blockDim.x) windows[k].move(stripes[here[k]].tails);
    __syncthreads();

    u64 level = 0;
    while (level < max_depth) {
        u64 place = level < logged ? level : logged - 1;
        u64* record = log + FIRST_LEVEL + place * words;
        bool first = global_thread() == 0;
        u64 began = first ? nanoseconds() : 0, now = 0;
        for (u32 k = 0; k < here_count; ++k) {
            const Stripe& r = stripes[here[k]];
            if (first) r.counts[w.side(level) + FRONTIER] = windows[k].end - windows[k].first;
            expand(w, r, windows[k], level, u32(parts), u32(history), way, shared,
                   record + TIMES + k * per_rank + OF_ARCS);
        }
        if (first) now = nanoseconds();
        if (first) record[0] += now - began;
        if (!synchronise(m, true)) return;
        if (warp_id() == 0) {
            u32 found = goes_on(w, level);
            if (lane_id() == 0) answer = found;
        }
        __syncthreads();
        if (!(answer & 1)) break;
        if (first) began = nanoseconds();
        if (first) record[1] += began - now;
        if (blockIdx.x == 0) {
            for (u64 i = threadIdx.x; i < here_count * rank_count; i += blockDim.x) {
                u64 k = i / rank_count, to = i % rank_count;
                record[TIMES + k * per_rank + OF_BINS + to] +=
                    load_relaxed(&stripes[here[k]].counts[w.side(level) + KEPT + to]);
            }
            for (u64 k = threadIdx.x; k < here_count; k += blockDim.x)
                record[TIMES + k * per_rank + OF_FRONTIER] += windows[k].end - windows[k].first;
            if (level + 1 < logged)
                for (u64 i = threadIdx.x; i < words; i += blockDim.x) record[words + i] = 0;
        }
        if (!(answer & 2)) {
            ++level;
            break;
        }
        for (u32 k = 0; k < here_count; ++k) {
            const Stripe& r = stripes[here[k]];
            contract(w, r, level, u32(parts));
            // Those of the level after the next, which were read last in the level before this one.
            if (blockIdx.x == 0)
                for (u64 i = threadIdx.x; i < KEPT + rank_count; i += blockDim.x) r.counts[w.side(level + 2) + i] = 0;
        }
        if (first) now = nanoseconds();
        if (first) record[2] += now - began;
        if (!synchronise(m, false)) return;
        if (first) record[3] += nanoseconds() - now;
        for (u32 k = threadIdx.x; k < here_count; k += blockDim.x) windows[k].move(stripes[here[k]].tails);
        __syncthreads();
        if (blockIdx.x == 0)
            for (u64 k = threadIdx.x; k < here_count; k += blockDim.x)
                record[TIMES + k * per_rank + OF_NEW] += windows[k].end - windows[k].first;
        ++level;
    }
    if (global_thread() == 0) log[0] = level;
    for (u32 k = 0; k < here_count; ++k) {
        const Stripe& r = stripes[here[k]];
        write_wide(r.keys, r.distance, r.predecessor, r.local);
    }
}
