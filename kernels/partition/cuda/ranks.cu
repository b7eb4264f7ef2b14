// Breadth-first search over the ranks of a partition, all levels in one cooperative launch on each device (Pan,
// Pearce, Owens, IPDPS 2018; see kernels/partition/__init__.py for the layout).
//
// A device holds one rank or several, which its grid goes through one after the other. A level is: visit the four
// subgraphs; synchronise everywhere; reduce the delegates' masks and take in arrivals, both read from peer memory; meet
// here; label and count; synchronise everywhere. What a visit needs first is made beside the others, and all synchronise here in between:
// the queue of one that is forward, where it is not there yet, and the frontiers of other ranks where nn is backward.
//
// spills 300: what a level needs is laid aside between its visits; 64-bit vertices with the smallest predecessors take most
// variants VERTEX: u32 u64
// variants OFFSET: u32 u64
// variants TREE: 0 1 2

#include "kernels/partition/cuda/pull.cuh"
#include "kernels/partition/cuda/begin.cuh"
#include "kernels/partition/cuda/push.cuh"
#include "kernels/partition/cuda/pull_nn.cuh"
#include "kernels/partition/cuda/labels.cuh"
#include "kernels/partition/cuda/level_state.cuh"
#include "kernels/partition/cuda/device_barrier.cuh"
#include "kernels/partition/cuda/staged.cuh"

constexpr u32 MAX_HERE = 16;  // ranks of a device

// Words of `log`: levels; with PLACED the sectors that the whole search read over the link; the clock when all devices
// had come and when the last block here was done, and how many blocks were. Then from FIRST_LEVEL on for each of the first
// `logged` levels LEVEL_WORDS: directions, 4 bits for each rank of this device; the frontier here (normal vertices) and
// everywhere (delegates); the clock when its visits began and ended, after the barrier that follows them, when labels were
// written, and after the barrier that ends the level; and the vertices that came from other ranks to make this frontier,
// which the level after the last has too. If STAGED, then the clock when masks were reduced, and when vertices were listed
// for other groups; if CULLED, what `Gathered` names. The host repeats a search that had more levels than the log.
constexpr u32 LINK_SECTORS = 1, BEGAN = 2, ENDED = 3, DONE = 4, FIRST_LEVEL = 5, LEVEL_WORDS = CULLED ? 13 : 11;

// Backward visits in their order, two bits each: in an array they would lie in local memory. What dd finds does not pull
// along dn rows, but for the smallest predecessor.
constexpr u32 VISITS = DD | DN << 2 | DD << 4 | ND << 6;

// Make the queues of forward visits, and go through with those that need none.
__device__ __forceinline__ void visit_unqueued(const World& w, const Rank& r, const Ahead& a, BlockRow& row, u64 level) {
    u64* counts = r.counts + side_of(level);
    u32* found = r.found + (level & 1) * w.words;
    if (!a.listed && a.forward.nd) list_normals(r, counts);
    if (!a.listed && (a.forward.dn || a.forward.dd)) list_delegates(w, r, counts, a.forward.dn, a.forward.dd);
#pragma unroll 1
    for (u32 k = 0; k < 4; ++k) {
        Subgraph visit = Subgraph(VISITS >> 2 * k & 3);
        Pullers pullers = k == 0 && r.own_delegates ? OWN : k == 2 ? OTHERS : ALL;
        if (pullers == OTHERS) {
            if (a.forward.nn && a.nn_listed)
                visit_nn(w, r, row, a.counts[NN_TAIL]);
            else if (a.forward.nn)
                visit_all_nn(w, r);
            if (!r.own_delegates) continue;
        }
        if (visit == DN && a.sweeps) continue;
        if (a.local.backward >> visit & 1 && a.local.hidden[reverse_of(visit)] && a.counts[rows_of(visit)])
            pull(w, r, visit, pullers, found);
    }
}

__device__ __forceinline__ void visit_queued(const World& w, const Rank& r, const Ahead& a, BlockRow& row, u64 level) {
    u32* found = r.found + (level & 1) * w.words;
    if (a.forward.dd) visit_dd(w, r, a.counts[DD_TAIL], found);
    if (a.forward.nd) visit_nd(w, r, row, a.counts[ND_TAIL], found);
    if (a.forward.dn) visit_dn(w, r, a.counts[DN_TAIL]);
}

// A warp copies.
template <class T>
__device__ __forceinline__ void copy_words(T& to, const T& from) {
    for (u32 i = lane_id(); i < sizeof(T) / 8; i += WARP)
        reinterpret_cast<u64*>(&to)[i] = reinterpret_cast<const u64*>(&from)[i];
}

// What a block fetches first, each by a warp of its own where there are so many: one after the other, these trips to memory
// were a third of the time until levels begin.
enum Fetched : u32 { OF_RANKS, OF_BARRIER, OF_OTHERS, OF_WORLD, FETCHES };

extern "C" __global__ void __launch_bounds__(512, ENCODED ? 1 : 2)
    search(const Rank* ranks, const u64* here, const VERTEX* delegates, const Barrier* barrier, const Factors* factors,
           u64* log, u64 logged, u64 here_count, u64 rank_count, u64 delegate_count, u64 words, u64 nn_rows, u64 source_vertex,
           u64 source_delegate, u64 source_id, u64 max_depth, const Stages* staged) {
    __shared__ Ahead known[MAX_HERE];
    // Of global memory these and all other pointers would be fetched anew after every barrier.
    __shared__ Rank own[MAX_HERE];
    __shared__ World w;
    __shared__ BlockRow row;
    __shared__ u64 sums[MAX_HERE * COUNTS];
    __shared__ u64 tails[MAX_HERE * MAX_DEVICES];
    __shared__ Everywhere all;
    __shared__ Barrier m;
    __shared__ Afar afar[MAX_HERE * MAX_DEVICES];
#pragma unroll 1
    for (u32 fetched = warp_id(); fetched < FETCHES; fetched += blockDim.x / WARP) {
        for (u32 k = 0; fetched == OF_RANKS && k < here_count; ++k) {
            copy_words(own[k], ranks[here[k]]);
            __syncwarp();
            const Rank& r = own[k];
            if (lane_id()) continue;
            known[k].local = Local{{r.nd_source_count, r.dn_filled, r.dd_filled}, 0};
            known[k].lists = known[k].nn_lists = true;
        }
        if (fetched == OF_BARRIER) copy_words(m, *barrier);
        for (u32 from = lane_id(); fetched == OF_OTHERS && from < rank_count; from += WARP)
            afar[from] = {ranks[from].found, ranks[from].counts};
        if (fetched == OF_WORLD && lane_id() == 0) {
            open_barrier(*barrier);
            w = {ranks, here, delegates, here_count, rank_count, delegate_count, words};
            all = {0, nn_rows, delegate_count, false, false};
            if (PLACED) link_sectors() = 0;
#if CULLED
            culled() = Culled{staged->parts, {}};
#endif
        }
    }
    for (u32 i = threadIdx.x; i < MAX_HERE * COUNTS; i += blockDim.x) sums[i] = 0;
    if (PLACED && global_thread() == 0) log[LINK_SECTORS] = 0;
    __syncthreads();
    // When a device was launched is no part of a search.
    if (m.devices > 1 && !synchronise(m, true)) return;
    if (global_thread() == 0) log[BEGAN] = nanoseconds();
#if CULLED
    if (global_thread() < GATHERED_COUNTS) log[FIRST_LEVEL + LEVEL_WORDS - GATHERED_COUNTS + global_thread()] = 0;
#endif
    for (u32 k = 0; k < here_count; ++k) begin(w, own[k], Source{source_vertex, source_delegate, source_id});
    const Stages stages = STAGED ? *staged : Stages{};
    // What a rank begins to read from others is written anew.
    for (u32 k = 0; STAGED && k < here_count; ++k) begin_relay(w, own[k], stages);

    u64 level = 0;
    for (bool begun = false;; begun = true) {
        u64 ahead = level + begun, side = level & 1;
#if STAGED
        bool stamps = begun && global_thread() == 0 && level < logged;
        u64* stamp = log + FIRST_LEVEL + level * LEVEL_WORDS + 9;
        for (u64 round = 0; begun && !all.no_delegates && round < stages.rounds; ++round) {
            for (u32 k = 0; k < here_count; ++k) {
                auto mask_of = [&](u32 from) { return reinterpret_cast<u64*>(afar[from].found + side * w.words); };
                take_masks(mask_of(u32(own[k].rank)), stages.schedule, round * rank_count + own[k].rank, w.words / 2, mask_of);
            }
            if (!synchronise(m, true)) return;
        }
        if (stamps) stamp[0] = nanoseconds();
        if (begun && relays(stages, rank_count)) {
            for (u32 k = 0; k < here_count; ++k) relay(w, own[k], stages, own[k].counts + side_of(ahead), side);
            if (!synchronise(m, true)) return;
        }
        if (stamps) stamp[1] = nanoseconds();
#endif
        for (u32 k = 0; begun && k < here_count; ++k) {
            const Rank& r = own[k];
            u64* counts = r.counts + side_of(ahead);
            Tally tally;
            // Peer memory is far, so it is asked before the answer is needed, and by one thread of a block for each rank.
            bool asks = threadIdx.x < rank_count && threadIdx.x != r.rank;
            u64 told = 0;
            if (asks) told = STAGED ? tail_for(w, r, stages, threadIdx.x) : __ldcv(&ranks[threadIdx.x].bin_tail[r.rank]);
            if (!all.no_delegates)
                commit_delegates(
                    w, r, tally,
                    [&](u64 own) {
                        u32 found = STAGED ? __ldcv(&r.found[side * w.words + own]) : 0;
                        for (u32 from = 0; !STAGED && from < w.rank_count; ++from)
                            found |= __ldcv(&afar[from].found[side * w.words + own]);
                        r.found[(side ^ 1) * w.words + own] = 0;
                        return found;
                    },
                    [&](const auto& d, const auto& mine) { label_delegates(w, r, d, mine, i32(ahead)); });
            if (rank_count > 1) {
                if (asks) tails[threadIdx.x] = told;
                __syncthreads();
                receive(w, r, stages, counts, side, tails);
                __syncthreads();
            }
            // A warp lists the words that it committed, so nobody waits.
            if (known[k].lists && !all.no_delegates) list_delegates(w, r, counts, true, true);
            if (!all.no_delegates) tally.add_delegates(sums + k * COUNTS);
        }
        // One rank alone has nothing to take in before its normal vertices commit.
        if (begun && rank_count > 1 && !synchronise(m, false)) return;
        for (u32 k = 0; begun && k < here_count; ++k) {
            const Rank& r = own[k];
            u64* counts = r.counts + side_of(ahead);
            Tally tally;
            Commit asked{known[k].nn_lists, known[k].lists && all.delegates_left, r.nn_owners ? MAX_LISTED : ~0u,
                           known[k].sweeps, all.delegates_left != 0};
            commit_normals(r, counts, tally, asked, [&](u64 own, bool live, u32 newly) {
                if (live) label(r, own, newly, i32(ahead));
            });
            tally.add_normals(sums + k * COUNTS);
        }
        for (u32 k = 0; begun && k < here_count; ++k) flush(sums + k * COUNTS, own[k].counts + side_of(ahead));
        u64* record = log + FIRST_LEVEL + level * LEVEL_WORDS;
        bool logs = begun && global_thread() == 0 && level < logged;
        if (logs) record[6] = nanoseconds();
        if (!synchronise(m, true)) return;
        if (logs) record[7] = nanoseconds();
        level = ahead;
        if (warp_id() == 0) {
            u64 normals, nn_ahead;
            learn(own, u32(here_count), afar, u32(rank_count), known, level, normals, nn_ahead);
            __syncwarp();
            if (lane_id() == 0) {
                u64 newly = known[0].counts[D_NEW];
                all.frontier = normals + newly;
                all.delegates_left -= newly;
                all.no_delegates = !newly && !all.delegates_left;
                all.nn_left -= nn_rows ? nn_ahead : 0;
                // Unless the smallest is asked for, who has found a delegate by then does not pull along nn: about as
                // many in all as delegates are on the frontier.
                u64 most = delegate_count ? delegate_count : 1, others = TREE == SMALLEST ? most : most - newly;
                all.nn_backward = factors->optimized && nn_rows && nn_ahead * most > all.nn_left * others;
            }
            __syncwarp();
            for (u32 k = lane_id(); k < here_count; k += WARP) look_ahead(known[k], own[k], *factors, all);
        }
        __syncthreads();
        record = log + FIRST_LEVEL + level * LEVEL_WORDS;
        logs = global_thread() == 0 && level < logged;
        if (logs) {
            u64 arrived = 0;
            for (u32 k = 0; k < here_count; ++k)
                arrived += known[k].counts[ARRIVED];
            record[8] = arrived;
        }
        if (!all.frontier || level >= max_depth) break;

        if (logs) {
            u64 directions = 0, normals = 0;
            for (u32 k = 0; k < here_count; ++k) {
                directions |= u64(known[k].local.backward | u32(all.nn_backward) << 3) << 4 * k;
                normals += known[k].counts[N_NEW];
            }
            record[0] = directions;
            record[1] = normals;
            record[2] = known[0].counts[D_NEW];
            record[3] = nanoseconds();
#if CULLED
            for (u32 i = 1; level + 1 < logged && i <= GATHERED_COUNTS; ++i) record[2 * LEVEL_WORDS - i] = 0;
#endif
        }
        bool queues = false, gathers = all.nn_backward && rank_count > 1;
        for (u32 k = 0; k < here_count; ++k) {
            const Rank& r = own[k];
            // Those of the level before, which nobody reads any more.
            if (blockIdx.x == 0 && threadIdx.x < COUNTS) r.counts[side_of(level + SIDES - 1) + threadIdx.x] = 0;
            queues |= known[k].forward.queued() && !known[k].listed;
            if (gathers) gather_fronts(w, r);
            visit_unqueued(w, r, known[k], row, level);
        }
        if (queues || gathers) {
            if (!synchronise(m, false)) return;
            read_counts(own, u32(here_count), known, level, threadIdx.x, blockDim.x);
            __syncthreads();
        }
        for (u32 k = 0; k < here_count; ++k) {
            if (all.nn_backward) pull_nn(w, own[k], known[k].sweeps);
            visit_queued(w, own[k], known[k], row, level);
        }
#if CULLED
        flush_culled(level < logged ? record + LEVEL_WORDS - GATHERED_COUNTS : nullptr);
#endif
        if (logs) record[4] = nanoseconds();
        if (!synchronise(m, true)) return;
        if (logs) record[5] = nanoseconds();
    }
    if (global_thread() == 0) log[0] = level;
    if (PLACED && threadIdx.x == 0) atomicAdd(&log[LINK_SECTORS], link_sectors());
    for (u32 k = 0; k < here_count; ++k) {
        const Source source{source_vertex, source_delegate, source_id};
        if (TREE == SMALLEST) finish(own[k]);
        widen(w, own[k], all.frontier ? level : level - 1, source.alone(w, own[k]), words_of_warp());
    }
    // Others read the keys here. Of what a search for distances alone reads from peers nothing changes before all
    // devices begin the next.
    if (TREE) synchronise(m, true);
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(&log[DONE], 1ull) == gridDim.x - 1) {
        log[ENDED] = nanoseconds();
        log[DONE] = 0;
    }
}
