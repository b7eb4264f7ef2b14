// One level of a search over ranks, kernel by kernel, for ranks that send (Pan, Pearce, Owens, IPDPS 2018, figure 3
// and section IV): kernels/partition/nccl/visits.py puts them on two streams and says what waits for what.
//
// Of each kernel there is one rank, `world->ranks[0]`. What delegates were found lies in `found`, the OR over all
// ranks in `mask`, which may be `found` itself; both are zero again after the previsit. The source enters as what a
// level -1 found. Rows of `told` are what the ranks tell each other in every level: ROW_SENT counts, and how many
// vertices they sent to each rank so far.
//
// variants VERTEX: u32 u64
// variants OFFSET: u32 u64
// variants TREE: 0 1

#include "kernels/partition/cuda/pull.cuh"
#include "kernels/partition/cuda/directions.cuh"
#include "kernels/partition/cuda/push.cuh"
#include "kernels/partition/nccl/chosen.cuh"
#include "kernels/partition/cuda/queues.cuh"

enum Told : u32 { ROW_NORMALS, ROW_DELEGATES, ROW_BACKWARD, ROW_SENT };

// What came from each rank, by origin: ids in `starts[rank]...`, and if TREE a bit for each that was new here.
struct Arrivals {
    const u64* starts;       // (ranks + 1)
    const u64* first_words;  // (ranks + 1)
    u32* ids;
    u32* bits;
    u64 words;  // of `bits`
    u64* told;  // (ranks, ROW_SENT + ranks)
};

__device__ __forceinline__ u64 stride_of(const World& w) { return ROW_SENT + w.rank_count; }

// How many vertices came from a rank in all, by its row.
__device__ __forceinline__ u64 came_from(const World& w, const Rank& r, const Arrivals& a, u64 from) {
    return from == r.rank ? 0 : a.told[from * stride_of(w) + ROW_SENT + r.rank];
}

extern "C" __global__ void __launch_bounds__(512, 2)
    begin(const World* world, const Arrivals* arrivals, Local* state, u32* mask, u64 source, u64 place) {
    const World& w = *world;
    const Rank& r = w.ranks[0];
    const Arrivals& a = *arrivals;
    fill(r.distance, r.local, -1);
    fill(r.delegate_distance, w.delegate_count, -1);
    if (TREE) {
        fill(r.keys, r.local, NO_KEY);
        fill(r.delegate_keys, w.delegate_count, NO_KEY);
        fill(a.bits, a.words, 0u);
    }
    fill(r.seen, r.local_words + 1, 0u);
    // Threads that write the source's words write nothing else to them.
    bool normal = place == ~0ull && source % w.rank_count == r.rank;
    u64 local = source / w.rank_count;
    for (u64 i = global_thread(); i < r.local_words; i += global_threads())
        r.reached[i] = normal && i == local / 32 ? 1u << (local & 31) : 0;
    fill(r.delegates_seen, w.words + 1, 0u);
    fill(r.found, w.words, 0u);
    for (u64 i = global_thread(); i < w.words; i += global_threads())
        mask[i] = place != ~0ull && i == place / 32 ? 1u << (place & 31) : 0;
    if (r.sent) fill(r.sent, w.rank_count * r.sent_words, 0u);
    fill(r.counts, u64(SIDES * COUNTS), 0ull);
    fill(r.came, w.rank_count, 0ull);
    fill(a.told, w.rank_count * stride_of(w), 0ull);
    for (u64 i = global_thread(); i < w.rank_count; i += global_threads()) r.bin_tail[i] = r.bin_start[i];
    if (global_thread() == 0) *state = Local{{r.nd_source_count, r.dn_filled, r.dd_filled}, 0};
}

extern "C" __global__ void __launch_bounds__(512, 2) previsit_normals(const World* world, u64 level) {
    __shared__ u64 sums[COUNTS];
    if (threadIdx.x < COUNTS) sums[threadIdx.x] = 0;
    __syncthreads();
    const Rank& r = world->ranks[0];
    Tally tally;
    u64* counts = r.counts + side_of(level);
    commit_normals(r, counts, tally, Commit{true, false, ~0u, false, true}, [&](u64 own, bool, u32 newly) {
        each_bit(u32(own), newly, [&](const u32(&local)[WORDS_AT_ONCE], const bool(&mine)[WORDS_AT_ONCE]) {
#pragma unroll
            for (u32 k = 0; k < WORDS_AT_ONCE; ++k)
                if (mine[k]) r.distance[local[k]] = i32(level);
        });
    });
    tally.add_normals(sums);
    flush(sums, counts);
}

extern "C" __global__ void __launch_bounds__(512, 2) previsit_delegates(const World* world, u32* mask, u64 level) {
    __shared__ u64 sums[COUNTS];
    if (threadIdx.x < COUNTS) sums[threadIdx.x] = 0;
    __syncthreads();
    const Rank& r = world->ranks[0];
    Tally tally;
    commit_delegates(
        *world, r, tally,
        [&](u64 own) {
            u32 bits = mask[own];
            mask[own] = 0;
            r.found[own] = 0;
            return bits;
        },
        [&](const auto& d, const auto& mine) {
#pragma unroll
            for (u32 k = 0; k < WORDS_AT_ONCE; ++k)
                if (mine[k]) r.delegate_distance[d[k]] = i32(level);
        });
    tally.add_delegates(sums);
    flush(sums, r.counts + side_of(level));
}

// One warp: directions of this level, and empty counts for the next.
extern "C" __global__ void direct(const World* world, Local* state, const Factors* factors, u64* changed, u64 level) {
    const Rank& r = world->ranks[0];
    if (threadIdx.x == 0) {
        const u64* counts = r.counts + side_of(level);
        decide(*state, [&](u32 place) { return counts[place]; }, *factors);
        *changed = 0;
    }
    if (threadIdx.x < COUNTS) r.counts[side_of(level + 1) + threadIdx.x] = 0;
}

// What a visit's kernel has to know of a level.
struct Ahead {
    const u64* counts;
    Forward forward;

    __device__ __forceinline__ Ahead(const Rank& r, const Local& l, u64 level)
        : counts(r.counts + side_of(level)), forward(forward_of(l, [&](u32 place) { return counts[place]; })) {}
};

extern "C" __global__ void __launch_bounds__(512, 2) queue_normals(const World* world, const Local* state, u64 level) {
    const Rank& r = world->ranks[0];
    if (Ahead(r, *state, level).forward.nd) list_normals(r, r.counts + side_of(level));
}

extern "C" __global__ void __launch_bounds__(512, 2) queue_delegates(const World* world, const Local* state, u64 level) {
    const Rank& r = world->ranks[0];
    Forward forward = Ahead(r, *state, level).forward;
    if (forward.dn || forward.dd) list_delegates(*world, r, r.counts + side_of(level), forward.dn, forward.dd);
}

extern "C" __global__ void __launch_bounds__(512, 2) search_dd(const World* world, const Local* state, u64 level) {
    const Rank& r = world->ranks[0];
    Ahead ahead(r, *state, level);
    if (ahead.forward.dd)
        visit_dd(*world, r, ahead.counts[DD_TAIL], r.found);
    else if (ahead.counts[DD_ROWS])
        pull(*world, r, DD, ALL, r.found);
}

extern "C" __global__ void __launch_bounds__(512, 2) search_nd(const World* world, const Local* state, u64 level) {
    __shared__ BlockRow row;
    const Rank& r = world->ranks[0];
    Ahead ahead(r, *state, level);
    if (ahead.forward.nd)
        visit_nd(*world, r, row, ahead.counts[ND_TAIL], r.found);
    else if (ahead.counts[ND_ROWS])
        pull(*world, r, ND, ALL, r.found);
}

extern "C" __global__ void __launch_bounds__(512, 2) search_dn(const World* world, const Local* state, u64 level) {
    const Rank& r = world->ranks[0];
    Ahead ahead(r, *state, level);
    if (ahead.forward.dn)
        visit_dn(*world, r, ahead.counts[DN_TAIL]);
    else if (ahead.counts[DN_ROWS])
        pull(*world, r, DN, ALL, r.found);
}

extern "C" __global__ void __launch_bounds__(512, 2) search_nn(const World* world, u64 level) {
    __shared__ BlockRow row;
    const Rank& r = world->ranks[0];
    const u64* counts = r.counts + side_of(level);
    if (counts[NN_ROWS]) visit_nn(*world, r, row, counts[NN_TAIL]);
}

// One block: this rank's row, and how far what came in the level before was taken in.
extern "C" __global__ void tell(const World* world, const Arrivals* arrivals, const Local* state, u64* row, u64 level) {
    const World& w = *world;
    const Rank& r = w.ranks[0];
    const u64* counts = r.counts + side_of(level);
    if (threadIdx.x == 0) {
        row[ROW_NORMALS] = counts[N_NEW];
        row[ROW_DELEGATES] = counts[D_NEW];
        row[ROW_BACKWARD] = state->backward;
    }
    for (u64 i = threadIdx.x; i < w.rank_count; i += blockDim.x) {
        r.came[i] = came_from(w, r, *arrivals, i);
        row[ROW_SENT + i] = r.bin_tail[i] - r.bin_start[i];
    }
}

// Take in what came in this level.
extern "C" __global__ void __launch_bounds__(512, 2) arrive(const World* world, const Arrivals* arrivals) {
    const World& w = *world;
    const Rank& r = w.ranks[0];
    const Arrivals& a = *arrivals;
    for (u64 from = 0; from < w.rank_count; ++from) {
        u64 last = came_from(w, r, a, from);
        for (u64 i = r.came[from] + global_thread(); i < last; i += global_threads()) {
            u32 local = a.ids[a.starts[from] + i];
            if (test_bit(r.seen, local)) continue;
            set_bit(r.reached, local);
            if (TREE) atomicOr(&a.bits[a.first_words[from] + i / 32], 1u << (i & 31));
        }
    }
}

// Of what was new, only those that no delegate found ask for a predecessor.
extern "C" __global__ void __launch_bounds__(512, 2) ask(const World* world, const Arrivals* arrivals) {
    const World& w = *world;
    const Rank& r = w.ranks[0];
    const Arrivals& a = *arrivals;
    for (u64 from = 0; from < w.rank_count; ++from) {
        u64 words = (came_from(w, r, a, from) + 31) / 32;
        for (u64 word = global_thread() / WARP; word < words; word += global_threads() / WARP) {
            u32 bits = a.bits[a.first_words[from] + word];
            bool mine = bits >> lane_id() & 1;
            if (mine) mine = r.keys[a.ids[a.starts[from] + word * 32 + lane_id()]] >= NORMAL_CLASS;
            u32 wanted = __ballot_sync(ALL_LANES, mine);
            if (lane_id() == 0) a.bits[a.first_words[from] + word] = wanted;
        }
    }
}

// A block for each chunk of words: take the tails that were asked for.
extern "C" __global__ void __launch_bounds__(512, 2)
    take_tails(const World* world, const Arrivals* arrivals, const u64* positions, const u32* tails) {
    const World& w = *world;
    const Rank& r = w.ranks[0];
    const Arrivals& a = *arrivals;
    each_chosen(a.bits, positions, a.first_words, w.rank_count, [&](u64 place, u64 from, u64 i) {
        u64 vertex = u64(tails[place]) * w.rank_count + from;
        atomicMin(&r.keys[a.ids[a.starts[from] + i]], NORMAL_CLASS | vertex);
    });
}

// Delegates' keys by owner: `order` has `width` places for each rank, of which NONE are empty.
extern "C" __global__ void __launch_bounds__(512, 2)
    order_keys(const World* world, const u32* order, u64* keys, u64 width) {
    const World& w = *world;
    for (u64 i = global_thread(); i < width * w.rank_count; i += global_threads())
        keys[i] = order[i] == NONE ? NO_KEY : w.ranks[0].delegate_keys[order[i]];
}

// Keys become predecessors (i64, -1 for none), and delegates get their labels at their owners; `smallest` are the
// keys of all ranks for the delegates here. No key of a delegate's own entry changes under the other loop.
extern "C" __global__ void __launch_bounds__(512, 2)
    label(const World* world, const u32* order, const u64* smallest, u64 width) {
    const World& w = *world;
    const Rank& r = w.ranks[0];
    for (u64 i = global_thread(); TREE && i < r.local; i += global_threads()) {
        u64 key = r.keys[i];
        if (key != NO_KEY && key & NORMAL_CLASS) r.keys[i] = key & ~NORMAL_CLASS;
    }
    for (u64 i = global_thread(); i < width; i += global_threads()) {
        u32 d = order[r.rank * width + i];
        if (d == NONE) continue;
        u64 local = u64(w.delegates[d]) / w.rank_count;
        r.distance[local] = r.delegate_distance[d];
        if (TREE) r.keys[local] = smallest[i];
    }
}
