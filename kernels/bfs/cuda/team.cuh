// Top-down for small frontiers: a few blocks go through many levels without the rest of the grid.
//
// Each block keeps the vertices that it claims in its shared memory, so that a level is one read of the
// rows, one claim (with the extents of the next rows read beside it) and one exchange of counts. Blocks publish
// epoch << 48 | weight << 24 | vertices in a word each and poll all words, which is barrier and sum in one. The
// word releases the claims of the level, and who has polled it acquires them: a vertex must not be claimed by
// a later level first. The team stops when a level grows too large, is spread too unevenly, or is the last, and
// leaves the frontier in the queue.

#include "kernels/bfs/cuda/push.cuh"

constexpr u32 MAX_IN_TEAM = 128;  // a lane polls up to four blocks
constexpr u64 COUNT_FIELD = (1ull << 24) - 1;

struct TeamSink {
    static constexpr bool DIRECT = true, COUNTS_ONLY = false, counts_only = false;
    const Search& s;
    Progress& p;
    Entries kept;
    u32* count;
    u32 capacity;
    u64 found = 0, weight = 0;

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

    __device__ __forceinline__ void keep(u32 base, u32 k, u64 spill, const Entry& entry) {
        if (base + k < capacity) {
            kept.write(base + k, entry);
        } else {
            u32 inside = base < capacity ? capacity - base : 0;
            s.queue.write(spill + (k - inside), entry);
        }
    }

    __device__ __forceinline__ void put(u32 lanes, bool mine, const Row& row) {
        u64 spill;
        u32 base = room(__popc(lanes), spill);
        if (mine) keep(base, __popc(lanes & lanes_below()), spill, whole_entry(row));
    }

    __device__ __forceinline__ void list(bool mine, VERTEX vertex) {
        list_hubs(s, mine, vertex);
        p.team_spilled = 1;
    }

    __device__ __forceinline__ void put_rows(u32 units, u32 upto, u32 total, const Row& row) {
        u64 spill;
        u32 base = room(total, spill);
        cut_rows(units, upto, total, row, [&](u32 k, const Entry& entry) { keep(base, k, spill, entry); });
    }
};

// Publish this block's counts of a level and add up everybody's; the first warp calls it.
__device__ __forceinline__ void exchange(Progress& p, u64* counts, u32 team) {
    u32 epoch = p.epoch + 1;
    u64* side = counts + (epoch & 1) * MAX_IN_TEAM;
    if (lane_id() == 0) {
        u64 found = p.totals[0] < COUNT_FIELD ? p.totals[0] : COUNT_FIELD;
        u64 weight = p.totals[1] < COUNT_FIELD && !p.team_spilled ? p.totals[1] : COUNT_FIELD;
        store_release(&side[blockIdx.x], u64(epoch & 0xffff) << 48 | weight << 24 | found);
    }
    u64 found = 0, weight = 0, most = 0;
    for (u32 block = lane_id(); block < team; block += WARP) {
        u64 seen;
        do {
            seen = load_acquire(&side[block]);
        } while (u32(seen >> 48) != (epoch & 0xffff));
        u64 its = seen >> 24 & COUNT_FIELD;
        found += seen & COUNT_FIELD;
        weight += its;
        most = its > most ? its : most;
    }
    __syncwarp();
    for (u32 step = WARP / 2; step; step /= 2) {
        u64 theirs = __shfl_xor_sync(ALL_LANES, most, step);
        most = theirs > most ? theirs : most;
    }
    found = warp_sum(found);
    weight = warp_sum(weight);
    if (lane_id() == 0) {
        p.team_found = found;
        p.team_weight = weight;
        p.team_most = most;
        p.team_own = p.totals[1];
        p.epoch = epoch;
    }
}

// `limit` and `uneven` are weights: of a level, and by how much a block may exceed four shares of it.
__device__ __forceinline__ void team(const Search& s, Progress& p, u64* arena, u64* counts, u32 blocks, u32 capacity,
                                     u64 limit, u64 uneven, u32 max_depth) {
    if (blockIdx.x >= blocks) return;
    Decoded decoded(arena);
    arena = behind_decoded(arena);
    VERTEX* owners = reinterpret_cast<VERTEX*>(arena + 2 * u64(capacity));
    Entries kept{arena, owners};
    u64 begin = p.begin, end = p.end;
    for (u64 i = threadIdx.x; begin + blockIdx.x + i * blocks < end; i += blockDim.x) {
        kept.write(i, s.queue.read(begin + blockIdx.x + i * blocks));
    }
    u32 count = end - begin > blockIdx.x ? u32((end - begin - blockIdx.x - 1) / blocks) + 1 : 0;
    if (threadIdx.x == 0) p.team_counts[0] = p.team_counts[1] = p.team_spilled = p.prior[0] = p.prior[1] = 0;
    u32 level = p.level, side = 0, rounds = 0;
    u64 level_weight = p.frontier_weight / blocks;
    __syncthreads();

    while (true) {
        u32 next = side ^ 1;
        TeamSink sink{s, p, {arena + next * u64(capacity), owners + next * u64(capacity)}, &p.team_counts[next], capacity};
        u32 share = entries_per_warp(count, blockDim.x / WARP, fewest_entries(level_weight, count));
        for (u32 first = warp_id() * share; first < count; first += blockDim.x / WARP * share) {
            u32 i = first + lane_id();
            bool valid = lane_id() < share && i < count;
            expand(s, sink, decoded, valid, kept.read_if(valid, side * capacity + i), level + 1);
        }
        if (__any_sync(ALL_LANES, sink.found != 0)) {
            u64 found = warp_sum(sink.found), weight = warp_sum(sink.weight);
            if (lane_id() == 0) {
                atomicAdd(&p.totals[0], found);
                atomicAdd(&p.totals[1], weight);
            }
        }
        __syncthreads();
        if (warp_id() == 0) exchange(p, counts, blocks);
        __syncthreads();
        ++level;
        ++rounds;
        side = next;
        count = p.team_counts[next] < capacity ? p.team_counts[next] : capacity;
        level_weight = p.team_own;
        // A block far behind the others is worth a new distribution, but not one in every level.
        bool behind = p.team_most > 4 * (p.team_weight / blocks) + (rounds >= 8 ? uneven : 4 * uneven);
        if (!p.team_found || p.team_weight > limit || level >= max_depth || behind) break;
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
            atomicAdd(&s.control[WEIGHT_PRIOR], p.prior[1]);
        }
        if (p.totals[0]) {
            atomicAdd(&s.control[FOUND_LAST], p.totals[0]);
            atomicAdd(&s.control[WEIGHT_LAST], p.totals[1]);
        }
        p.totals[0] = p.totals[1] = 0;
        if (blockIdx.x == 0) s.control[LEVEL] = level;
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < count; i += blockDim.x)
        s.queue.write(p.base + i, kept.read(side * u64(capacity) + i));
}
