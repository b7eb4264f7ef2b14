// Top-down for small frontiers: a few blocks go through many levels without the rest of the grid.
//
// Each block keeps the vertices that it claims in its shared memory, so that a level is one read of the
// columns, one claim (with the next offsets read beside it) and one exchange of counts. Blocks publish
// epoch << 48 | arcs << 24 | vertices in a slot each and poll all slots, which is barrier and sum in one. The
// slot releases the claims of the level, and who has polled it acquires them: a vertex must not be claimed by
// a later level first. The team stops when a level grows too large, is dealt too unevenly, or is the last, and
// leaves the frontier in the queue.

#include "kernels/bfs/push.cuh"

constexpr u32 MOST_IN_TEAM = 128;  // a lane polls up to four blocks
constexpr u64 SLOT_FIELD = (1ull << 24) - 1;

struct TeamSink {
    static constexpr bool DIRECT = true, COUNTS_ONLY = false;
    const Search& s;
    Progress& p;
    u64* entries;
    VERTEX* owners;
    u32* count;
    u32 capacity;
    u64 found = 0, arcs = 0;

    // Room for `amount` entries of this warp: from `base` on in shared memory, and what does not fit there
    // from `spill` on in the queue.
    __device__ __forceinline__ u32 room(u32 amount, u64& spill) {
        u32 base = 0;
        if (lane_id() == 0) base = atomicAdd(count, amount);
        base = __shfl_sync(ALL_LANES, base, 0);
        spill = 0;
        if (base + amount > capacity) {
            u32 inside = base < capacity ? capacity - base : 0;
            spill = reserve(s, amount - inside);
            p.team_spilled = 1;
        }
        return base;
    }

    __device__ __forceinline__ void keep(u32 base, u32 k, u64 spill, u64 entry, VERTEX owner) {
        if (base + k < capacity) {
            entries[base + k] = entry;
            if (TREE) owners[base + k] = owner;
        } else {
            u32 inside = base < capacity ? capacity - base : 0;
            write_entry(s, spill + (k - inside), entry, owner);
        }
    }

    __device__ __forceinline__ void put(u32 lanes, bool mine, i64 begin, i64 degree, VERTEX vertex) {
        u64 spill;
        u32 base = room(__popc(lanes), spill);
        if (mine) keep(base, __popc(lanes & lanes_below()), spill, make_entry(begin, u32(degree)), vertex);
    }

    __device__ __forceinline__ void list(bool mine, VERTEX vertex) {
        list_hubs(s, mine, vertex);
        p.team_spilled = 1;
    }

    __device__ __forceinline__ void put_rows(u32 chunks, u32 upto, u32 total, i64 begin, i64 degree, VERTEX vertex) {
        u64 spill;
        u32 base = room(total, spill);
        cut_rows(chunks, upto, total, begin, degree, vertex,
                 [&](u32 k, u64 entry, VERTEX owner) { keep(base, k, spill, entry, owner); });
    }
};

// Publish this block's counts of a level and add up everybody's; the first warp calls it.
__device__ __forceinline__ void exchange(Progress& p, u64* slots, u32 team) {
    u32 epoch = p.epoch + 1;
    u64* side = slots + (epoch & 1) * MOST_IN_TEAM;
    if (lane_id() == 0) {
        u64 found = p.totals[0] < SLOT_FIELD ? p.totals[0] : SLOT_FIELD;
        u64 arcs = p.totals[1] < SLOT_FIELD && !p.team_spilled ? p.totals[1] : SLOT_FIELD;
        store_release(&side[blockIdx.x], u64(epoch & 0xffff) << 48 | arcs << 24 | found);
    }
    u64 found = 0, arcs = 0, most = 0;
    for (u32 block = lane_id(); block < team; block += WARP) {
        u64 seen;
        do {
            seen = load_acquire(&side[block]);
        } while (u32(seen >> 48) != (epoch & 0xffff));
        u64 its = seen >> 24 & SLOT_FIELD;
        found += seen & SLOT_FIELD;
        arcs += its;
        most = its > most ? its : most;
    }
    __syncwarp();
    for (u32 step = WARP / 2; step; step /= 2) {
        u64 theirs = __shfl_xor_sync(ALL_LANES, most, step);
        most = theirs > most ? theirs : most;
    }
    found = warp_sum(found);
    arcs = warp_sum(arcs);
    if (lane_id() == 0) {
        p.team_found = found;
        p.team_arcs = arcs;
        p.team_most = most;
        p.team_own = p.totals[1];
        p.epoch = epoch;
    }
}

__device__ __forceinline__ void team(const Search& s, Progress& p, u64* arena, u64* slots, u32 blocks, u32 capacity,
                                     u64 limit, u32 max_depth) {
    if (blockIdx.x >= blocks) return;
    VERTEX* owners = reinterpret_cast<VERTEX*>(arena + 2 * u64(capacity));
    u64 begin = p.begin, end = p.end;
    for (u64 i = threadIdx.x; begin + blockIdx.x + i * blocks < end; i += blockDim.x) {
        u64 place = begin + blockIdx.x + i * blocks;
        arena[i] = s.queue[place];
        if (TREE) owners[i] = s.owners[place];
    }
    u32 count = end - begin > blockIdx.x ? u32((end - begin - blockIdx.x - 1) / blocks) + 1 : 0;
    if (threadIdx.x == 0) p.team_counts[0] = p.team_counts[1] = p.team_spilled = p.prior[0] = p.prior[1] = 0;
    u32 level = p.level, side = 0, rounds = 0;
    u64 level_arcs = p.frontier_arcs / blocks;
    __syncthreads();

    while (true) {
        u32 next = side ^ 1;
        TeamSink sink{s, p, arena + next * u64(capacity), owners + next * u64(capacity), &p.team_counts[next], capacity};
        u32 few = level_arcs < 4 * u64(count) ? 8 : level_arcs < 16 * u64(count) ? 4 : 1;
        u32 share = entries_per_warp(count, blockDim.x / WARP, few);
        for (u32 first = warp_id() * share; first < count; first += blockDim.x / WARP * share) {
            u32 i = first + lane_id();
            bool valid = lane_id() < share && i < count;
            u32 place = side * capacity + i;
            expand(s, sink, valid, valid ? arena[place] : 0, TREE && valid ? owners[place] : VERTEX(0), level + 1);
        }
        if (__any_sync(ALL_LANES, sink.found != 0)) {
            u64 found = warp_sum(sink.found), arcs = warp_sum(sink.arcs);
            if (lane_id() == 0) {
                atomicAdd(&p.totals[0], found);
                atomicAdd(&p.totals[1], arcs);
            }
        }
        __syncthreads();
        if (warp_id() == 0) exchange(p, slots, blocks);
        __syncthreads();
        ++level;
        ++rounds;
        side = next;
        count = p.team_counts[next] < capacity ? p.team_counts[next] : capacity;
        level_arcs = p.team_own;
        // A block far behind the others is worth a new deal, but not one in every level.
        bool uneven = p.team_most > 4 * (p.team_arcs / blocks) + (rounds >= 8 ? 1024 : 4096);
        if (!p.team_found || p.team_arcs > limit || level >= max_depth || uneven) break;
        if (threadIdx.x == 0) {
            p.prior[0] += p.totals[0];
            p.prior[1] += p.totals[1];
            p.totals[0] = p.totals[1] = 0;
            p.team_counts[next ^ 1] = 0;
        }
        __syncthreads();
    }

    if (threadIdx.x == 0) {
        p.base = count ? s.end + atomicAdd(&s.control[TAIL], u64(count)) : 0;
        if (p.prior[0]) {
            atomicAdd(&s.control[FOUND_PRIOR], p.prior[0]);
            atomicAdd(&s.control[ARCS_PRIOR], p.prior[1]);
        }
        if (p.totals[0]) {
            atomicAdd(&s.control[FOUND_LAST], p.totals[0]);
            atomicAdd(&s.control[ARCS_LAST], p.totals[1]);
        }
        p.totals[0] = p.totals[1] = 0;
        if (blockIdx.x == 0) s.control[LEVEL] = level;
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < count; i += blockDim.x)
        write_entry(s, p.base + i, arena[side * u64(capacity) + i], TREE ? owners[side * u64(capacity) + i] : VERTEX(0));
}
