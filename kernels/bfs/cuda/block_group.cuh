// Warps that go through a deep graph together: each with its own part of the frontier, all of them at a
// meeting only every few hops.
//
// At a meeting every block at work publishes epoch << 32 | hops << 24 | entries in a slot and polls all slots,
// which is barrier and sums in one. The slot says all that others need: labels are touched by atomics alone, and
// one that is claimed too deep is corrected whenever the shallower claim comes, so it is relaxed. Meanwhile its
// entries are spread evenly over as many of its warps as they need. Blocks without work wait for a notice by
// block 0, and take part when the entries are dealt anew. Dealing cuts the entries of all blocks, in the order
// of blocks, into equal ranges: neighbours stay together. The first slot after it releases: its block has read
// what was dealt to it, which nobody may overwrite before.

#include "kernels/bfs/cuda/hops.cuh"

constexpr u64 COUNT_FIELD = (1ull << 24) - 1;  // of a slot; as a count it says that a queue overflowed
constexpr u32 MAX_HOPS = 64;                  // between meetings, below the slot's 8 bits
constexpr u32 MAX_WARPS = 32;

enum Outcome : u32 { GO_ON, DEAL, WIDEN, FINISHED };
enum Notice : u32 { NUMBER, OUTCOME, DEPTH, TOTAL, PARTS, EPOCH, NOTICE_WORDS };

struct BlockGroup {
    u32 held[MAX_WARPS];  // entries of each warp; more than fit if some were lost
    u32 hops;              // that the warps with entries, or the first to lose some, have gone
    u32 stride;            // hops to the next meeting
    u32 outcome, depth, total, parts, epoch, before;
    u32 notices;
};

struct Meeting {
    u64* slots;   // (2, blocks)
    u64* notice;
    VERTEX* dealt;
    u64 room;  // entries that `dealt` holds
    u32 hops, calm_hops, target, share, wide_limit;
    double uneven;
};

// Which of a block's `count` entries one of its warps takes.
__device__ __forceinline__ u32 part_begin(u32 count, u32 share, u32 warp) {
    u32 warps = (count + share - 1) / share, all = blockDim.x / WARP;
    if (warps > all) warps = all;
    return warp < warps ? count * warp / warps : count;
}

// Learn what all blocks at work have and decide; the first warp calls it, after it published its own.
__device__ __forceinline__ void decide(BlockGroup& group, const Meeting& m, u32 since) {
    u32 parts = group.parts, epoch = group.epoch + 1;
    const u64* side = m.slots + (epoch & 1) * gridDim.x;
    u32 total = 0, most = 0, before = 0, furthest = 0, failed = ~0u;
    for (u32 block = lane_id(); block < parts; block += WARP) {
        u64 seen;
        do {
            seen = load_relaxed(&side[block]);
        } while (seen >> 32 != epoch);
        u32 its = u32(seen & COUNT_FIELD), its_hops = u32(seen >> 24 & 0xff);
        if (its == COUNT_FIELD) {
            failed = failed < its_hops ? failed : its_hops;
        } else if (its) {
            total += its;
            most = most > its ? most : its;
            furthest = furthest > its_hops ? furthest : its_hops;
            if (block < blockIdx.x) before += its;
        }
    }
    __syncwarp();
    total = __reduce_add_sync(ALL_LANES, total);
    before = __reduce_add_sync(ALL_LANES, before);
    most = __reduce_max_sync(ALL_LANES, most);
    furthest = __reduce_max_sync(ALL_LANES, furthest);
    failed = __reduce_min_sync(ALL_LANES, failed);
    if (lane_id()) return;

    u32 wanted = (total + m.target - 1) / m.target, fair = total / gridDim.x;
    if (wanted > gridDim.x) wanted = gridDim.x;
    if (fair < m.target) fair = m.target;
    bool uneven = most > u32(m.uneven * fair), few = wanted * 4 <= parts || (parts > 1 && total <= m.target / 2);
    u32 outcome = GO_ON;
    if (failed != ~0u || total > m.wide_limit)
        outcome = WIDEN;
    else if (!total)
        outcome = FINISHED;
    else if ((uneven || few) && (parts == 1 || since >= 4 || most > 4 * fair))
        outcome = DEAL;
    group.outcome = outcome;
    group.depth += failed != ~0u ? failed : furthest;
    // Where parts grow alike, longer strides lose little to the slowest.
    group.stride = most * parts <= u32(m.uneven * total) ? m.calm_hops : m.hops;
    group.total = total;
    group.before = before;
    group.epoch = epoch;
    if (outcome == DEAL) group.parts = wanted;
    if (outcome == GO_ON) return;
    ++group.notices;
    if (blockIdx.x) return;
    u64 words[NOTICE_WORDS] = {group.notices, outcome, group.depth, total, group.parts, epoch};
    for (u32 i = OUTCOME; i < NOTICE_WORDS; ++i) store_relaxed(&m.notice[i], words[i]);
    store_release(&m.notice[NUMBER], group.notices);
}

// What a block without work does instead; one thread calls it.
__device__ __forceinline__ void await_notice(BlockGroup& group, const Meeting& m) {
    ++group.notices;
    while (load_acquire(&m.notice[NUMBER]) != group.notices) __nanosleep(100);
    group.outcome = u32(load_relaxed(&m.notice[OUTCOME]));
    group.depth = u32(load_relaxed(&m.notice[DEPTH]));
    group.total = u32(load_relaxed(&m.notice[TOTAL]));
    group.parts = u32(load_relaxed(&m.notice[PARTS]));
    group.epoch = u32(load_relaxed(&m.notice[EPOCH]));
}

// Where the entries of a warp lie on one of two sides of shared memory: first all records, then all ids.
__device__ __forceinline__ Entries place_of(const Graph& g, void* arena, u32 side, u32 warp) {
    u32 warps = blockDim.x / WARP, first = (side * warps + warp) * g.capacity;
    Record* records = reinterpret_cast<Record*>(arena);
    return Entries{records, reinterpret_cast<Ids*>(records + 2 * warps * g.capacity)}.from(first);
}

// Go some hops with every warp of this block, publish what it has then, and spread it over the warps anew.
// Returns how many entries the block has; this warp's are `mine`, on `side`.
__device__ __forceinline__ u32 work(const Graph& g, BlockGroup& group, const Meeting& m, void* arena, u32& side, u32& mine,
                                    u32 count, u32 depth, bool alone, bool dealt) {
    // A lone warp may stop when it likes; others stay together.
    alone = alone && count == mine;
    u32 done = 0, most = alone ? MAX_HOPS : group.stride;
    Entries here = place_of(g, arena, side, warp_id()), there = place_of(g, arena, side ^ 1, warp_id());
    while (done < most && mine && mine <= g.capacity && !(alone && done && mine > 2 * m.share)) {
        ++done;
        mine = hop(g, here, mine, there, depth + done);
        Entries last = here;
        here = there;
        there = last;
    }
    if (lane_id() == 0) {
        group.held[warp_id()] = mine;
        if (mine) atomicMin(&group.hops, done);
    }
    __syncthreads();
    u32 its = lane_id() < blockDim.x / WARP ? group.held[lane_id()] : 0;
    bool lost = __any_sync(ALL_LANES, its > g.capacity);
    u32 upto = warp_inclusive_sum(lost ? 0 : its), total = __shfl_sync(ALL_LANES, upto, WARP - 1), hops = group.hops;
    if (threadIdx.x == 0) {
        u64 told = lost ? COUNT_FIELD : total;
        u32 epoch = group.epoch + 1;
        u64* slot = &m.slots[(epoch & 1) * gridDim.x + blockIdx.x];
        u64 word = u64(epoch) << 32 | u64(hops & 0xff) << 24 | told;
        if (dealt)
            store_release(slot, word);
        else
            store_relaxed(slot, word);
    }
    side = (side + hops) & 1;
    u32 begin = part_begin(total, m.share, warp_id()), end = part_begin(total, m.share, warp_id() + 1);
    Entries into = place_of(g, arena, side ^ 1, warp_id());
    for (u32 first = begin; first < end; first += WARP) {
        u32 i = first + lane_id(), from = 0;
#pragma unroll
        for (u32 step = WARP / 2; step; step /= 2)
            if (i >= __shfl_sync(ALL_LANES, upto, from + step - 1)) from += step;
        u32 before = __shfl_sync(ALL_LANES, upto - its, from);
        if (i < end) into.copy(i - begin, place_of(g, arena, side, from), i - before);
    }
    side ^= 1;
    mine = end - begin;
    return total;
}

// Go on from the frontier's vertices `queue[0..count)` at group.depth until the search is FINISHED, or the
// frontier is too WIDE; then everything up to group.depth is exact.
__device__ __forceinline__ Outcome go_deep(const Graph& g, BlockGroup& group, const Meeting& m, void* arena, u64* arrivals,
                                           const VERTEX* queue, u32 frontier, u32 parts) {
    u32 side = 0, mine = 0, since = 0, depth = group.depth;
    u32 count = ~0u;  // of this block's entries; at first unknown
    u32 warps = blockDim.x / WARP;
    if (blockIdx.x < parts) {
        u32 worker = blockIdx.x * warps + warp_id(), workers = parts * warps;
        u32 begin = u32(u64(frontier) * worker / workers), end = u32(u64(frontier) * (worker + 1) / workers);
        for (u32 first = begin; first < end && mine <= g.capacity; first += WARP) {
            bool valid = first + lane_id() < end;
            VERTEX vertex = valid ? queue[first + lane_id()] : VERTEX(0);
            i64 row;
            u64 degree;
            read_row(g, vertex, valid, row, degree);
            push_rows(g, place_of(g, arena, 0, warp_id()), mine, row, degree, vertex, NO_VERTEX);
        }
        __syncwarp();
    }
    if (threadIdx.x == 0) {
        group.parts = parts;
        group.stride = m.hops;
        group.hops = ~0u;
    }
    __syncthreads();
    while (true) {
        if (blockIdx.x < parts) {
            count = work(g, group, m, arena, side, mine, count, depth, parts == 1, since == 0);
            if (warp_id() == 0) decide(group, m, since);
        } else if (threadIdx.x == 0) {
            await_notice(group, m);
        }
        __syncthreads();
        depth = group.depth;
        parts = group.parts;
        u32 outcome = group.outcome;
        if (threadIdx.x == 0) group.hops = ~0u;
        ++since;
        __syncthreads();
        if (outcome == FINISHED || outcome == WIDEN) return Outcome(outcome);
        if (outcome == DEAL) {
            // The first warp has read the slots.
            if (warp_id() == 0) fence();
            __syncthreads();
            Record* records = reinterpret_cast<Record*>(m.dealt);
            Entries dealt{records, reinterpret_cast<Ids*>(records + m.room)};
            Entries own = place_of(g, arena, side, warp_id());
            u32 offset = group.before + part_begin(count, m.share, warp_id());
            for (u32 i = lane_id(); i < mine; i += WARP) dealt.copy(offset + i, own, i);
            grid_barrier(arrivals);
            count = mine = 0;
            if (blockIdx.x < parts) {
                u32 begin = u32(u64(group.total) * blockIdx.x / parts);
                count = u32(u64(group.total) * (blockIdx.x + 1) / parts) - begin;
                u32 first = part_begin(count, m.share, warp_id());
                mine = part_begin(count, m.share, warp_id() + 1) - first;
                for (u32 i = lane_id(); i < mine; i += WARP) own.copy(i, dealt, begin + first + i);
                __syncwarp();
            }
            since = 0;
            if (threadIdx.x == 0) group.stride = m.hops;
            __syncthreads();
        }
    }
}
