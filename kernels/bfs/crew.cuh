// Blocks that go through a deep graph together: each with its own part of the frontier, all of them at a
// meeting only every few hops.
//
// At a meeting every block at work publishes epoch << 32 | hops << 24 | entries in a slot and polls all slots,
// which is barrier and sums in one; labels are touched by atomics alone, so it needs no fence. The blocks
// without work wait for a notice by block 0, and take part when the entries are dealt anew.
// Dealing cuts the entries of all blocks, in the order of blocks, into equal ranges: neighbours stay together.

#include "kernels/bfs/hops.cuh"

constexpr u64 COUNT_FIELD = (1ull << 24) - 1;  // of a slot; as a count it says that a queue overflowed
constexpr u32 MOST_HOPS = 64;                  // between meetings, below the slot's 8 bits
constexpr u32 QUEUES = 3;                      // counts of entries: read, added to, and zeroed for the next hop

enum Outcome : u32 { GO_ON, DEAL, WIDEN, FINISHED };
enum Notice : u32 { NUMBER, OUTCOME, DEPTH, TOTAL, PARTS, EPOCH, NOTICE_WORDS };

struct Crew {
    u32 tail[QUEUES];
    u32 outcome, depth, total, parts, epoch, before;
    u32 notices;
};

struct Meeting {
    u64* slots;   // (2, blocks)
    u64* notice;
    Entry* dealt;
    u32 hops, target, wide_limit;
};

// Publish what this block has, learn what all have, and decide; the first warp calls it.
__device__ __forceinline__ void meet(Crew& crew, const Meeting& m, u32 capacity, u32 hops, u32 count, u32 since) {
    u32 parts = crew.parts, epoch = crew.epoch + 1;
    u64* side = m.slots + (epoch & 1) * gridDim.x;
    if (lane_id() == 0) {
        u64 told = count > capacity ? COUNT_FIELD : count;
        store_relaxed(&side[blockIdx.x], u64(epoch) << 32 | u64(hops) << 24 | told);
    }
    u32 total = 0, most = 0, before = 0, furthest = 0, failed = ~0u;
    for (u32 block = lane_id(); block < parts; block += WARP) {
        u64 seen, spins = 0;
        do {
            seen = load_relaxed(&side[block]);
            if (++spins > (1ull << 24)) __trap();
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
    bool uneven = most > 2 * fair, few = wanted * 4 <= parts || (parts > 1 && total <= m.target / 2);
    u32 outcome = GO_ON;
    if (failed != ~0u || total > m.wide_limit)
        outcome = WIDEN;
    else if (!total)
        outcome = FINISHED;
    else if ((uneven || few) && (parts == 1 || since >= 4))
        outcome = DEAL;
    crew.outcome = outcome;
    crew.depth += failed != ~0u ? failed : furthest;
    crew.total = total;
    crew.before = before;
    crew.epoch = epoch;
    if (outcome == DEAL) crew.parts = wanted;
    if (outcome == GO_ON) return;
    ++crew.notices;
    if (blockIdx.x) return;
    u64 words[NOTICE_WORDS] = {crew.notices, outcome, crew.depth, total, crew.parts, epoch};
    for (u32 i = OUTCOME; i < NOTICE_WORDS; ++i) store_relaxed(&m.notice[i], words[i]);
    __threadfence();
    store_relaxed(&m.notice[NUMBER], crew.notices);
}

// What a block without work does instead; one thread calls it.
__device__ __forceinline__ void await_notice(Crew& crew, const Meeting& m) {
    ++crew.notices;
    u64 spins = 0;
    while (load_relaxed(&m.notice[NUMBER]) != crew.notices) {
        __nanosleep(100);
        if (++spins > (1ull << 23)) __trap();
    }
    __threadfence();
    crew.outcome = u32(load_relaxed(&m.notice[OUTCOME]));
    crew.depth = u32(load_relaxed(&m.notice[DEPTH]));
    crew.total = u32(load_relaxed(&m.notice[TOTAL]));
    crew.parts = u32(load_relaxed(&m.notice[PARTS]));
    crew.epoch = u32(load_relaxed(&m.notice[EPOCH]));
}

// Go on from the frontier's vertices `queue[0..count)` at crew.depth until the search is FINISHED, or the
// frontier is too WIDE; then everything up to crew.depth is exact.
template <u32 WIDTH>
__device__ __forceinline__ Outcome go_deep(const Graph& g, Crew& crew, const Meeting& m, Entry* arena, u64* arrivals,
                                           const VERTEX* queue, u32 count, u32 parts) {
    Entry* sides[2] = {arena, arena + g.capacity};
    u32 turn = 0, side = 0, since = 0, depth = crew.depth, held = 0;
    if (threadIdx.x < QUEUES) crew.tail[threadIdx.x] = 0;
    if (threadIdx.x == 0) crew.parts = parts;
    __syncthreads();
    if (blockIdx.x < parts) {
        u32 begin = u32(u64(count) * blockIdx.x / parts), end = u32(u64(count) * (blockIdx.x + 1) / parts);
        for (u32 first = begin + warp_id() * WARP; first < end; first += blockDim.x) {
            bool valid = first + lane_id() < end;
            VERTEX vertex = valid ? queue[first + lane_id()] : VERTEX(0);
            i64 row = valid ? g.row_offsets[vertex] : 0;
            push_rows(g, arena, crew.tail[0], row, valid ? u64(g.row_offsets[vertex + 1] - row) : 0, vertex);
        }
    }
    __syncthreads();
    while (true) {
        held = crew.tail[turn];
        if (blockIdx.x < parts) {
            bool alone = parts == 1;
            u32 done = 0, most = alone ? MOST_HOPS : m.hops;
            while (done < most && held && held <= g.capacity && !(alone && done && held > 2 * m.target)) {
                u32 next = turn == QUEUES - 1 ? 0 : turn + 1;
                if (threadIdx.x == 0) crew.tail[next == QUEUES - 1 ? 0 : next + 1] = 0;
                ++done;
                hop<WIDTH>(g, sides[side], held, sides[side ^ 1], crew.tail[next], depth + done);
                __syncthreads();
                side ^= 1;
                turn = next;
                held = crew.tail[turn];
            }
            if (warp_id() == 0) meet(crew, m, g.capacity, done, held, since);
        } else if (threadIdx.x == 0) {
            await_notice(crew, m);
        }
        __syncthreads();
        depth = crew.depth;
        parts = crew.parts;
        u32 outcome = crew.outcome;
        ++since;
        __syncthreads();
        if (outcome == FINISHED || outcome == WIDEN) return Outcome(outcome);
        if (outcome == DEAL) {
            for (u32 i = threadIdx.x; i < held; i += blockDim.x) m.dealt[crew.before + i] = sides[side][i];
            grid_barrier(arrivals);
            u32 begin = 0, end = 0;
            if (blockIdx.x < parts) {
                begin = u32(u64(crew.total) * blockIdx.x / parts);
                end = u32(u64(crew.total) * (blockIdx.x + 1) / parts);
            }
            for (u32 i = begin + threadIdx.x; i < end; i += blockDim.x) sides[side][i - begin] = m.dealt[i];
            if (threadIdx.x < QUEUES) crew.tail[threadIdx.x] = threadIdx.x == turn ? end - begin : 0;
            since = 0;
            __syncthreads();
        }
    }
}
