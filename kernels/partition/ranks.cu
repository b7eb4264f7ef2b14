// Breadth-first search over the ranks of a partition, all levels in one cooperative launch on each device (Pan,
// Pearce, Owens, IPDPS 2018; see kernels/partition/__init__.py for the layout).
//
// A device holds one rank or several, which its grid goes through one after the other. A level is: visit the four
// subgraphs; meet everywhere; reduce the delegates' masks and take in arrivals, both read from peer memory; meet
// here; label and count; meet everywhere. What a visit needs first is made beside the others, and all meet here in between:
// the queue of one that is forward, where it is not there yet, and the frontiers of other ranks where nn is backward.
//
// spills 200: what a level needs is laid aside between its visits
// variants VERTEX: u32 u64
// variants OFFSET: u32 u64
// variants TREE: 0 1 2

#include "kernels/partition/ahead.cuh"
#include "kernels/partition/backward.cuh"
#include "kernels/partition/few.cuh"
#include "kernels/partition/forward.cuh"
#include "kernels/partition/fronts.cuh"
#include "kernels/partition/labels.cuh"
#include "kernels/partition/meeting.cuh"

// Words of `log`: levels, then from FIRST_LEVEL on for each of the first levels LEVEL_WORDS: directions, 4 bits for
// each rank of this device; the frontier here (normal vertices) and everywhere (delegates); and the clock when its
// visits began and ended, when all had met, when labels were written, and when all had met again; and the vertices
// that came from other ranks to make this frontier, which the level after the last has too.
constexpr u32 FIRST_LEVEL = 1, LEVEL_WORDS = 9, LOGGED_LEVELS = 250;
constexpr u32 LINK_SECTORS = FIRST_LEVEL + LOGGED_LEVELS * LEVEL_WORDS;  // of the whole search, with PLACED
// The clock when all devices had come and when the last block here was done, and how many were.
constexpr u32 BEGAN = LINK_SECTORS + 1, ENDED = BEGAN + 1, DONE = ENDED + 1;
constexpr u32 TURNED_LEVELS = 1 << 20;  // of which `turned` says whether any visit here was backward

// The source's rows: its counts, as those of a level that has it for a frontier, and its queues.
__device__ __forceinline__ void count_source(const Rank& r, u64 local, u64 place, bool normal, bool delegate) {
    auto arcs = [](bool own, const OFFSET* offsets, u64 at) { return own ? u64(offsets[at + 1] - offsets[at]) : 0; };
    u64 nn = arcs(normal, r.nn_offsets, local), nd = arcs(normal, r.nd_offsets, local);
    u64 dn = arcs(delegate, r.dn_offsets, place), dd = arcs(delegate, r.dd_offsets, place);
    for (u32 i = 0; i < SIDES * COUNTS; ++i) r.counts[i] = 0;
    r.counts[N_FRESH] = normal, r.counts[D_FRESH] = delegate;
    r.counts[NN_ARCS] = nn, r.counts[ND_ARCS] = nd, r.counts[DN_ARCS] = dn, r.counts[DD_ARCS] = dd;
    r.counts[ND_ROWS] = nd != 0, r.counts[DN_ROWS] = dn != 0, r.counts[DD_ROWS] = dd != 0;
    r.counts[NN_TAIL] = nn != 0, r.counts[ND_TAIL] = nd != 0;
    r.counts[DN_TAIL] = dn ? 1ull << MERGE_BITS | dn : 0, r.counts[DD_TAIL] = dd ? 1ull << MERGE_BITS | dd : 0;
    if (nn) r.nn_queue[0] = u32(local);
    if (nd) r.nd_queue[0] = u32(local);
    if (dn) r.dn_queue[0] = u32(place), r.dn_starts[0] = 0;
    if (dd) r.dd_queue[0] = u32(place), r.dd_starts[0] = 0;
}

// Forget the last search, and make the source the frontier.
__device__ __forceinline__ void begin(const World& w, const Rank& r, u64 source, u64 place) {
    bool delegate = place != ~0ull, normal = !delegate && source % w.rank_count == r.rank;
    u64 local = source / w.rank_count, word = normal ? local / 32 : ~0ull, delegate_word = delegate ? place / 32 : ~0ull;
    u32 bit = 1u << (local & 31), delegate_bit = 1u << (place & 31);
    if (global_thread() == global_threads() - 1) count_source(r, local, place, normal, delegate);
    fill_but(r.depths, r.local, u8(0), normal ? local : ~0ull, u8(shallow(0)));
    fill_but(r.delegate_depths, w.delegate_count, u8(0), place, u8(shallow(0)));
    if (TREE) {
        fill(r.keys, r.local, NO_KEY);
        fill(r.delegate_keys, w.delegate_count, NO_KEY);
        if (TREE == SMALLEST) fill(r.classed, r.local_words, 0u);
    }
    fill_but(r.seen, r.local_words + 1, 0u, word, bit);
    fill_but(r.reached, r.local_words, 0u, word, bit);
    fill_but(r.front, r.local_words, 0u, word, bit);
    fill_but(r.delegates_seen, w.words + 1, 0u, delegate_word, delegate_bit);
    fill_but(r.delegates_front, w.words, 0u, delegate_word, delegate_bit);
    fill(r.found, 2 * w.words, 0u);
    if (r.sent) fill(r.sent, w.rank_count * r.sent_words, 0u);
    for (u64 i = global_thread(); i < w.rank_count; i += global_threads()) {
        r.bin_tail[i] = r.bin_start[i];
        r.came[i] = r.came[w.rank_count + i] = w.ranks[i].bin_start[r.rank];
    }
}

// Backward visits in their order, two bits each: in an array they would lie in local memory, and a search of Kronecker 24 on
// one H200 took 6 % longer. What dd finds does not look along dn rows, but for the smallest predecessor.
constexpr u32 VISITS = DD | DN << 2 | DD << 4 | ND << 6;

// Make the queues of forward visits, and go through with those that need none.
__device__ __forceinline__ void visit_unqueued(const World& w, const Rank& r, const Ahead& a, BlockRow& row, u64 level) {
    u64* counts = r.counts + level % SIDES * COUNTS;
    u32* found = r.found + (level & 1) * w.words;
    if (!a.listed && a.forward.nd) list_normals(r, r.nd_mask, r.nd_queue, &counts[ND_TAIL]);
    if (!a.listed && (a.forward.dn || a.forward.dd)) list_delegates(w, r, counts, a.forward.dn, a.forward.dd);
#pragma unroll 1
    for (u32 k = 0; k < 4; ++k) {
        Subgraph visit = Subgraph(VISITS >> 2 * k & 3);
        Lookers lookers = k == 0 && r.own_delegates ? OWN : k == 2 ? OTHERS : ALL;
        if (lookers == OTHERS) {
            if (a.forward.nn && a.nn_listed)
                visit_nn(w, r, row, a.counts[NN_TAIL]);
            else if (a.forward.nn)
                visit_all_nn(w, r);
            if (!r.own_delegates) continue;
        }
        if (a.local.backward >> visit & 1 && a.counts[rows_of(visit)]) look(w, r, visit, lookers, found);
    }
}

__device__ __forceinline__ void visit_queued(const World& w, const Rank& r, const Ahead& a, BlockRow& row, u64 level) {
    u32* found = r.found + (level & 1) * w.words;
    if (a.forward.dd) visit_dd(w, r, a.counts[DD_TAIL], found);
    if (a.forward.nd) visit_nd(w, r, row, a.counts[ND_TAIL], found);
    if (a.forward.dn) visit_dn(w, r, a.counts[DN_TAIL]);
}

// What a search has at hand in every level.
struct Search {
    const World& w;
    const Rank* own;
    Ahead* known;
    Everywhere& all;
    const Meeting& m;
    const Factors& factors;
    u64 *sums, *tails;
    u64* log;
    u8* turned;
    Kept* kept;
    u64 here_count, nn_arcs, max_depth;
};

__device__ __forceinline__ u64* log_of(const Search& s, u64 level) { return s.log + FIRST_LEVEL + level * LEVEL_WORDS; }

__device__ __forceinline__ void log_clock(const Search& s, u64 level, u32 word) {
    if (global_thread() == 0 && level < LOGGED_LEVELS) log_of(s, level)[word] = nanoseconds();
}

__device__ __forceinline__ void log_arrived(const Search& s, u64 level) {
    if (global_thread() != 0 || level >= LOGGED_LEVELS) return;
    u64 arrived = 0;
    for (u32 k = 0; k < s.here_count; ++k) arrived += s.known[k].counts[ARRIVED];
    log_of(s, level)[8] = arrived;
}

__device__ __forceinline__ void log_ahead(const Search& s, u64 level) {
    if (global_thread() != 0) return;
    u64 directions = 0, normals = 0;
    u32 any = 0;
    for (u32 k = 0; k < s.here_count; ++k) {
        u32 backward = s.known[k].local.backward;
        any |= backward;
        directions |= u64(backward | u32(s.all.nn_backward) << 3) << 4 * k;
        normals += s.known[k].counts[N_FRESH];
    }
    if (level < TURNED_LEVELS) s.turned[level] = any != 0;
    if (level >= LOGGED_LEVELS) return;
    u64* record = log_of(s, level);
    record[0] = directions;
    record[1] = normals;
    record[2] = s.known[0].counts[D_FRESH];
    record[3] = nanoseconds();
}

// Between the visits of a level and the next: reduce masks, take in arrivals, label and count; false where it is given up.
__device__ __forceinline__ bool settle(const Search& s, u64 level) {
    const World& w = s.w;
    u64 ahead = level + 1, side = level & 1;
    for (u32 k = 0; k < s.here_count; ++k) {
        const Rank& r = s.own[k];
        u64* counts = r.counts + ahead % SIDES * COUNTS;
        Tally tally;
        // Peer memory is far, so it is asked before the answer is needed, and by one thread of a block for each rank.
        bool asks = threadIdx.x < w.rank_count && threadIdx.x != r.rank;
        u64 told = asks ? __ldcv(&w.ranks[threadIdx.x].bin_tail[r.rank]) : 0;
        settle_delegates(
            w, r, tally,
            [&](u64 own) {
                u32 found = 0;
                for (u32 from = 0; from < w.rank_count; ++from) found |= __ldcv(&w.ranks[from].found[side * w.words + own]);
                r.found[(side ^ 1) * w.words + own] = 0;
                return found;
            },
            [&](const auto& d, const auto& mine) { label_delegates(w, r, d, mine, i32(ahead)); });
        if (w.rank_count > 1) {
            if (asks) s.tails[threadIdx.x] = told;
            __syncthreads();
            receive(w, r, counts, side, s.tails);
            __syncthreads();
        }
        // A warp lists the words that it settled, so nobody waits.
        if (s.known[k].lists) list_delegates(w, r, counts, true, true);
        tally.add_delegates(s.sums + k * COUNTS);
    }
    // One rank alone has nothing to take in before its normal vertices settle.
    if (w.rank_count > 1 && !meet(s.m, false)) return false;
    for (u32 k = 0; k < s.here_count; ++k) {
        const Rank& r = s.own[k];
        u64* counts = r.counts + ahead % SIDES * COUNTS;
        Tally tally;
        settle_normals(r, counts, tally, s.known[k].nn_lists, s.known[k].lists,
                       [&](u32 local, u32 ones) { label(r, local, ones, i32(ahead)); });
        tally.add_normals(s.sums + k * COUNTS);
    }
    for (u32 k = 0; k < s.here_count; ++k) flush(s.sums + k * COUNTS, s.own[k].counts + ahead % SIDES * COUNTS);
    return true;
}

// Make the queues of a level of few arcs that are not there yet; false where the search is given up.
__device__ __forceinline__ bool list_missing(const Search& s, u64 level) {
    bool missing = false;
    for (u32 k = 0; k < s.here_count; ++k) {
        const Rank& r = s.own[k];
        const Ahead& a = s.known[k];
        u64* counts = r.counts + level % SIDES * COUNTS;
        missing |= !a.listed || !a.nn_listed;
        if (!a.nn_listed) list_normals(r, r.nn_mask, r.nn_queue, &counts[NN_TAIL]);
        if (a.listed) continue;
        list_normals(r, r.nd_mask, r.nd_queue, &counts[ND_TAIL]);
        list_delegates(s.w, r, counts, true, true);
    }
    // Also where there is nothing to make: who goes on alone clears counts that others may not have read yet.
    if (!meet(s.m, false)) return false;
    if (!missing) return true;
    read_counts(s.own, s.here_count, s.known, level, threadIdx.x, blockDim.x);
    __syncthreads();
    return true;
}

constexpr u64 FEW_LEVELS = 64;  // at once, so that nobody waits for long

// Go through levels of few arcs, as one block of each device; false where the search is given up. What the other blocks
// have to know is in `kept` then.
__device__ __noinline__ bool go_through_few(const Search& s, u64 level) {
    __shared__ Finds finds[MOST_HERE];
    __shared__ u64 scratch[WARP + 1];
    const World& w = s.w;
    u64 last = level + FEW_LEVELS < s.max_depth ? level + FEW_LEVELS : s.max_depth;
    do {
        log_ahead(s, level);
        u64 ahead = level + 1, side = level & 1;
        if (threadIdx.x < s.here_count) finds[threadIdx.x] = Finds{0, 0, 0};
        __syncthreads();
        for (u32 k = 0; k < s.here_count; ++k) {
            const Rank& r = s.own[k];
            if (threadIdx.x < COUNTS) r.counts[(level + SIDES - 1) % SIDES * COUNTS + threadIdx.x] = 0;
            visit_few(w, r, s.known[k].counts, finds[k], scratch);
        }
        log_clock(s, level, 4);
        if (!meet_alone(s.m)) return false;
        log_clock(s, level, 5);
        for (u32 k = 0; k < s.here_count; ++k) {
            const Rank& r = s.own[k];
            take_few(w, r, finds[k], s.sums + k * COUNTS, side);
            settle_few(
                w, r, finds[k], s.sums + k * COUNTS,
                [&](u32 local) { label(r, local & ~(QUAD - 1), 0xFFu << 8 * (local % QUAD), i32(ahead)); },
                [&](u32 d) {
                    const u32 one[1] = {d};
                    const bool mine[1] = {true};
                    label_delegates(w, r, one, mine, i32(ahead));
                });
            flush(s.sums + k * COUNTS, r.counts + ahead % SIDES * COUNTS);
            if (threadIdx.x == 0) s.known[k].lists = s.known[k].nn_lists = true;
        }
        log_clock(s, level, 6);
        if (!meet_alone(s.m)) return false;
        log_clock(s, level, 7);
        level = ahead;
        look_everywhere(w, s.own, s.here_count, s.known, s.all, s.factors, s.nn_arcs, level);
        log_arrived(s, level);
    } while (s.all.few && s.all.frontier && level < last);
    for (u32 k = threadIdx.x; k < s.here_count; k += blockDim.x) s.kept->known[k] = s.known[k];
    if (threadIdx.x == 0) s.kept->level = level, s.kept->all = s.all;
    return true;
}

// Learn what one block of this device went through; gives the level.
__device__ __forceinline__ u64 take_over(const Search& s) {
    for (u32 k = threadIdx.x; k < s.here_count; k += blockDim.x) s.known[k] = s.kept->known[k];
    if (threadIdx.x == 0) s.all = s.kept->all;
    __syncthreads();
    return s.kept->level;
}

extern "C" __global__ void __launch_bounds__(512, ENCODED ? 1 : 2)
    search(const Rank* ranks, const u64* here, const VERTEX* delegates, const Meeting* meeting, const Factors* factors,
           u64* log, u8* turned, Kept* kept, u64 here_count, u64 rank_count, u64 delegate_count, u64 words, u64 nn_arcs, u64 source,
           u64 place, u64 max_depth) {
    __shared__ Ahead known[MOST_HERE];
    // Of global memory pointers would be fetched anew after every meeting.
    __shared__ Rank own[MOST_HERE];
    __shared__ World w;
    __shared__ BlockRow row;
    __shared__ u64 sums[MOST_HERE * COUNTS];
    __shared__ u64 tails[MOST_HERE * MOST_DEVICES];
    __shared__ Everywhere all;
    const Meeting& m = *meeting;
    if (threadIdx.x == 0) {
        w = {ranks, delegates, rank_count, delegate_count, words};
        all = {0, nn_arcs, false, false};
    }

    for (u32 i = threadIdx.x; i < MOST_HERE * COUNTS; i += blockDim.x) sums[i] = 0;
    if (PLACED && threadIdx.x == 0) link_sectors() = 0;
    if (PLACED && global_thread() == 0) log[LINK_SECTORS] = 0;
    for (u32 k = threadIdx.x; k < here_count; k += blockDim.x) {
        const Rank& r = own[k] = ranks[here[k]];
        known[k].local = Local{{r.nd_source_count, r.dn_filled, r.dd_filled}, 0};
        known[k].lists = known[k].nn_lists = true;
    }
    __syncthreads();
    // When a device was launched is no part of a search.
    if (m.devices > 1 && !meet(m, true)) return;
    if (global_thread() == 0) log[BEGAN] = nanoseconds();
    for (u32 k = 0; k < here_count; ++k) begin(w, own[k], source, place);

    const Search s{w, own, known, all, m, *factors, sums, tails, log, turned, kept, here_count, nn_arcs, max_depth};
    u64 level = 0;
    if (!meet(m, true)) return;
    for (;;) {
        look_everywhere(w, own, here_count, known, all, *factors, nn_arcs, level);
        log_arrived(s, level);
        while (all.few && all.frontier && level < max_depth) {
            if (!list_missing(s, level)) return;
            // A copy, or what is at hand would lie in memory for all levels.
            const Search alone = s;
            if (blockIdx.x == 0 && !go_through_few(alone, level)) return;
            if (!meet(m, false)) return;
            level = take_over(s);
        }
        if (!all.frontier || level >= max_depth) break;

        log_ahead(s, level);
        bool queues = false, gathers = all.nn_backward && rank_count > 1;
        for (u32 k = 0; k < here_count; ++k) {
            const Rank& r = own[k];
            // Those of the level before, which nobody reads any more.
            if (blockIdx.x == 0 && threadIdx.x < COUNTS) r.counts[(level + SIDES - 1) % SIDES * COUNTS + threadIdx.x] = 0;
            queues |= known[k].forward.queued() && !known[k].listed;
            if (gathers) gather_fronts(w, r);
            visit_unqueued(w, r, known[k], row, level);
        }
        if (queues || gathers) {
            if (!meet(m, false)) return;
            read_counts(own, here_count, known, level, threadIdx.x, blockDim.x);
            __syncthreads();
        }
        for (u32 k = 0; k < here_count; ++k) {
            if (all.nn_backward) look_along_nn(w, own[k]);
            visit_queued(w, own[k], known[k], row, level);
        }
        log_clock(s, level, 4);
        if (!meet(m, true)) return;
        log_clock(s, level, 5);
        if (!settle(s, level)) return;
        log_clock(s, level, 6);
        if (!meet(m, true)) return;
        log_clock(s, level, 7);
        ++level;
    }
    if (global_thread() == 0) log[0] = level;
    if (PLACED && threadIdx.x == 0) atomicAdd(&log[LINK_SECTORS], link_sectors());
    for (u32 k = 0; k < here_count; ++k) {
        place_delegates(w, own[k]);
        if (TREE == SMALLEST) finish(own[k]);
    }
    if (!meet(m, false)) return;
    for (u32 k = 0; k < here_count; ++k) widen(own[k]);
    // Others read the keys here. Of what a search for distances alone reads from peers nothing changes before all
    // devices begin the next.
    if (TREE) meet(m, true);
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(&log[DONE], 1ull) == gridDim.x - 1) {
        log[ENDED] = nanoseconds();
        log[DONE] = 0;
    }
}
