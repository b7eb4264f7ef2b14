// Expand, filter and partition in one pass (Merrill, Garland, Grimshaw 2012, section 6.1, steps 1 and 2): the
// frontier's rows are gathered, what needs not be sent is dropped, and the rest goes to the bins of its owners.
//
// The paper gathers into a queue and sorts that, which counts first and moves then. Bins that have room for all need
// no counts: warps collect 32 survivors at a time in shared memory and append them, with one atomic for each bin.
//
// The bitmask has a bit for every vertex that this rank has sent or owns and knows to be found, set by whoever is
// first: so a vertex is sent once at most, with any of its predecessors here. Other culling keeps the smallest.

#include "kernels/striped/stripe.cuh"

constexpr u32 STAGED = 2 * WARP;  // survivors that a warp has room for

struct Expansion {
    GatherShared gather;
    i64 arcs[LISTED * THREADS];
    VERTEX owners[TREE ? LISTED * THREADS : 1];
    u64 history[HISTORY];
    u8 winners[THREADS / WARP * WARP_HASH];
    VERTEX staged[THREADS / WARP * STAGED];
    u32 staged_tails[TREE ? THREADS / WARP * STAGED : 1];
    u64 sums[3];  // as Tally adds them up
};

enum Summed : u32 { ARCS, DUPLICATES, MASKED };

struct Filter {
    static constexpr u32 BATCH = 4;
    static constexpr bool OWNERS = TREE != 0;
    const Stripe& r;
    Expansion& shared;
    u64* kept;         // of this level, by owner
    const u64* sent;   // before it
    u32 ranks, parts, last;  // of the history's entries
    u32 held = 0;            // survivors that the warp has staged
    u32 duplicates = 0, masked = 0;

    __device__ __forceinline__ void operator()(const Gathered<BATCH>& items) {
        Status status{r.bitmask, nullptr, nullptr};
        Culling culling{shared.history, shared.winners};
        VERTEX vertex[BATCH];
        bool live[BATCH];
#pragma unroll
        for (u32 k = 0; k < BATCH; ++k) {
            live[k] = items.live[k];
            vertex[k] = live[k] ? __ldg(&r.columns[items.arc[k]]) : VERTEX(0);
        }
        if (parts & LOOK_BITMASK) {
            bool known[BATCH];
#pragma unroll
            for (u32 k = 0; k < BATCH; ++k) known[k] = live[k] && marked(status, vertex[k]);
#pragma unroll
            for (u32 k = 0; k < BATCH; ++k) {
                masked += known[k];
                live[k] = live[k] && !known[k];
            }
        }
#pragma unroll
        for (u32 k = 0; k < BATCH; ++k) {
            if (!__any_sync(ALL_LANES, live[k])) continue;
            VERTEX v = vertex[k], tail = TREE ? items.owner[k] : VERTEX(0);
            bool twice = parts & LOOK_WARP && culled_by_warp(culling, live[k], v, tail);
            if (parts & LOOK_HISTORY && live[k] && !twice) twice = culled_by_history(culling, v, tail, last);
            duplicates += live[k] && twice;
            bool keep = live[k] && !twice;
            if (keep && parts & LOOK_BITMASK) {
                u32 bit = 1u << (v & 31);
                if (atomicOr(&r.bitmask[v >> 5], bit) & bit) {
                    keep = false;
                    ++masked;
                }
            }
            stage(keep, v, u32(tail));
        }
    }

    __device__ __forceinline__ void stage(bool keep, VERTEX vertex, u32 tail) {
        u32 lanes = __ballot_sync(ALL_LANES, keep), base = warp_id() * STAGED + held;
        if (!lanes) return;
        if (keep) {
            shared.staged[base + __popc(lanes & lanes_below())] = vertex;
            if (TREE) shared.staged_tails[base + __popc(lanes & lanes_below())] = tail;
        }
        held += __popc(lanes);
        if (held >= WARP) flush(WARP);
    }

    // Put the last `count` of the staged, at most a warp's, into their bins; all lanes call it.
    __device__ __forceinline__ void flush(u32 count) {
        __syncwarp();
        held -= count;
        bool live = lane_id() < count;
        u32 at = warp_id() * STAGED + held + (live ? lane_id() : 0);
        VERTEX vertex = shared.staged[at];
        u32 tail = TREE ? shared.staged_tails[at] : 0;
        __syncwarp();
        u32 lanes = __ballot_sync(ALL_LANES, live);
        if (!live) return;
        u32 to = u32(vertex % ranks), same = __match_any_sync(lanes, to), leader = __ffs(same) - 1;
        u64 place = 0;
        if (lane_id() == leader) place = atomicAdd(&kept[to], u64(__popc(same)));
        place = __shfl_sync(same, place, leader) + __popc(same & lanes_below()) + r.bin_start[to] + sent[to];
        r.bin_ids[place] = u32(vertex / ranks);
        if (TREE) r.bin_tails[place] = tail;
    }
};

// Expand one rank's frontier; `sums` has the arcs of the level, and how many were dropped and why.
__device__ __forceinline__ void expand(const World& w, const Stripe& r, const Window& frontier, u64 level, u32 parts,
                                       u32 history, const GatherWay& way, Expansion& shared, u64* sums) {
    u64 count = frontier.end - frontier.first, arcs = 0;
    Filter filter{r, shared, r.counts + w.side(level) + KEPT, r.sent + (level & 1) * w.rank_count,
                  u32(w.rank_count), parts, history - 1};
    // Of several ranks here, each has a history and a count of its own.
    if (threadIdx.x == 0) {
        shared.gather.arcs = shared.arcs;
        shared.gather.owners = shared.owners;
    }
    if (threadIdx.x < 3) shared.sums[threadIdx.x] = 0;
    if (w.here_count > 1 && parts & LOOK_HISTORY) Culling{shared.history, shared.winners}.clear();
    __syncthreads();

    // Vertices are assigned round-robin, since hubs lie together in the queue.
    u64 grid = gridDim.x, wide = grid * blockDim.x, tiles = (count + wide - 1) / wide * grid;
    if (tiles > count) tiles = count;
    for (u64 tile = blockIdx.x; tile < tiles; tile += grid) {
        u64 i = tile + threadIdx.x * tiles;
        u32 local = i < count ? r.queue[frontier.first + i] : 0;
        i64 begin = i < count ? i64(r.row_offsets[local]) : 0;
        i64 length = i < count ? i64(r.row_offsets[u64(local) + 1]) - begin : 0;
        arcs += u64(length);
        if (u64(length) > w.longest) length = 0;
        Measured measured = measure(way, length, shared.gather);
        if (measured.total()) gather(way, begin, length, VERTEX(local), measured, shared.gather, filter);
    }
    for (u64 i = frontier.first_huge; i < frontier.end_huge; ++i) {
        u32 local = r.huge[i];
        i64 begin = i64(r.row_offsets[local]);
        u64 length = u64(r.row_offsets[u64(local) + 1]) - u64(begin);
        visit_strip(global_thread() - lane_id(), length, global_threads(), filter,
                    [&](u64 at, u64&, i64& arc, VERTEX& owner) {
                        arc = begin + i64(at);
                        owner = VERTEX(local);
                    });
    }
    if (filter.held) filter.flush(filter.held);

    u64 own[3] = {arcs, filter.duplicates, filter.masked};
    for (u32 k = 0; k < 3; ++k) {
        u64 sum = warp_sum(own[k]);
        if (lane_id() == 0 && sum) atomicAdd(&shared.sums[k], sum);
    }
    __syncthreads();
    if (threadIdx.x < 3 && shared.sums[threadIdx.x]) atomicAdd(&sums[threadIdx.x], shared.sums[threadIdx.x]);
    __syncthreads();
}
