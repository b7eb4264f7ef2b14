// Cuthill-McKee's order level by level, many levels in one launch (Cuthill, McKee, ACM 1969; the level-synchronous
// form after Karantasis, Lenharth, Nguyen, Garzaran, Pingali, SC 2014). Every component is searched and numbered
// at the same time; a launch ends with the last level, or before a level that rcm_wide.cu should take.
//
// Contract. row_offsets i64 (vertices + 1), columns VERTEX (arcs) in memory that the device can read, sorted rows;
// label, claim, queue, rank, by_rank VERTEX (vertices), rank ascending by degree and then vertex; spare VERTEX and
// counts, places u32 (most_arcs). The frontier is queue[begin:end]; what is found is appended, by `number` in
// order: by parent, then rank. `tallies` SIDES of them, zero. `state` receives begin, end, arcs, longest, levels
// that were gone through, and whether `number` claimed the last level but left it unsorted, since a parent has more
// than MAX_KIDS children. Block: a multiple of 32 within the kernel's bound. Grid: no more blocks than run at the same
// time.
//
// variants VERTEX: u32 u64

#include "kernels/order/rcm_levels.cuh"

constexpr u32 FEW = 8;          // children that a lane sorts in registers
constexpr u64 MAX_KIDS = 1024; // children of one parent that a warp sorts
constexpr u32 KEPT = 4096;      // finds that a block keeps in shared memory
// Threads of a block, as many as have the registers.
constexpr u32 MAX_SEARCHING = sizeof(VERTEX) == 4 ? 1024 : 512, MAX_NUMBERING = sizeof(VERTEX) == 4 ? 768 : 512;

struct Finds {
    VERTEX kept[KEPT];
    u32 count;
    u64 place;
};

struct Searching {
    const i64* row_offsets;
    const VERTEX* columns;
    VERTEX* label;
    VERTEX* queue;
    VERTEX base;
    Finds& finds;

    __device__ __forceinline__ void operator()(const Team& team, Frontier& f, Tally& tally, Tally& next) const {
        if (threadIdx.x == 0) {
            finds.count = 0;
            if (team.block() == 0) next = Tally{0, 0, 0, 0};
        }
        __syncthreads();
        VERTEX now = base + VERTEX(f.levels) + 1;
        u64 count = f.end - f.begin;
        Rows rows;
        auto weigh = [&](VERTEX vertex) { rows.add(row_offsets, vertex); };
        // Warp after warp of the frontier goes to another block, so that few vertices still have many blocks.
        u64 warps = u64(team.blocks()) * (blockDim.x / WARP);
        for (u64 warp = u64(warp_id()) * team.blocks() + team.block(); warp * WARP < count; warp += warps) {
            u64 i = warp * WARP + lane_id();
            VERTEX vertex = i < count ? queue[f.begin + i] : 0;
            i64 begin = i < count ? row_offsets[vertex] : 0, end = i < count ? row_offsets[vertex + 1] : 0;
            each_arc(
                columns, begin, end, 0, [&](VERTEX other) { return label[other]; },
                [&](VERTEX other, VERTEX seen, VERTEX) {
                    if (seen >= base || atomicMax(&label[other], now) >= base) return;
                    u32 at = atomicAdd(&finds.count, 1u);
                    if (at < KEPT) {
                        finds.kept[at] = other;
                    } else {
                        queue[f.end + atomicAdd(&tally.found, 1ull)] = other;
                        weigh(other);
                    }
                });
        }
        __syncthreads();
        u32 kept = finds.count < KEPT ? finds.count : KEPT;
        if (threadIdx.x == 0 && kept) finds.place = f.end + atomicAdd(&tally.found, u64(kept));
        __syncthreads();
        for (u32 i = threadIdx.x; i < kept; i += blockDim.x) {
            VERTEX vertex = finds.kept[i];
            queue[finds.place + i] = vertex;
            weigh(vertex);
        }
        add_rows_of_block(&tally, rows);
        team.meet();
        f = Frontier{f.end, f.end + tally.found, tally.arcs, tally.longest, f.levels + 1, 0};
    }
};

extern "C" __global__ void __launch_bounds__(MAX_SEARCHING, 1)
    search(const i64* row_offsets, const VERTEX* columns, VERTEX* label, VERTEX* queue, u64 base, u64 begin, u64 end,
           u64 arcs, u64 longest, u64 levels, u64 most_arcs, u64 most_row, u64 solo, u64 most_levels, Tally* tallies,
           u64* state, u64* arrivals) {
    __shared__ Finds finds;
    Searching step{row_offsets, columns, label, queue, VERTEX(base), finds};
    go_through(step, Frontier{begin, end, arcs, longest, levels, 0}, Limits{most_arcs, most_row, solo, most_levels},
               tallies, state, arrivals);
}

struct Sums {
    u32 scratch[WARP + 1];
    u64 own[1];
    u64 before, all;
};

struct Numbering {
    const i64* row_offsets;
    const VERTEX* columns;
    const VERTEX* rank;
    const VERTEX* by_rank;
    VERTEX* claim;
    VERTEX* queue;
    VERTEX* spare;
    u32* counts;
    u32* places;
    u64* totals;  // of each block
    Sums& sums;

    __device__ __forceinline__ bool is_child(i64 k, i64 begin, VERTEX other, VERTEX parent) const {
        // A neighbour that is listed twice is one child.
        return claim[other] == parent && !(k > begin && columns[k - 1] == other);
    }

    // How many children the lanes' vertices have.
    __device__ __forceinline__ u32 count_children(i64 begin, i64 end, VERTEX parent) const {
        bool lengthy = end - begin > ALONE;
        u32 count = 0;
        for (i64 k = begin; !lengthy && k < end; k += BATCH) {
            VERTEX ends[BATCH];
            bool child[BATCH];
#pragma unroll
            for (u32 j = 0; j < BATCH; ++j)
                if (k + j < end) ends[j] = columns[k + j];
#pragma unroll
            for (u32 j = 0; j < BATCH; ++j) child[j] = k + j < end && is_child(k + j, begin, ends[j], parent);
#pragma unroll
            for (u32 j = 0; j < BATCH; ++j) count += child[j];
        }
        __syncwarp();
        for (u32 rest = __ballot_sync(ALL_LANES, lengthy); rest; rest &= rest - 1) {
            u32 lane = __ffs(rest) - 1, mine = 0;
            i64 from = __shfl_sync(ALL_LANES, begin, lane), to = __shfl_sync(ALL_LANES, end, lane);
            VERTEX of_lane = __shfl_sync(ALL_LANES, parent, lane);
            for (i64 k = from + lane_id(); k < to; k += WARP) mine += is_child(k, from, columns[k], of_lane);
            mine = warp_sum(mine);
            if (lane_id() == lane) count = mine;
        }
        return count;
    }

    // Write up to FEW children, ascending by rank.
    template <class Weigh>
    __device__ __forceinline__ void write_few(i64 begin, u32 count, VERTEX parent, u64 place, Weigh weigh) const {
        VERTEX child[FEW], ranks[FEW];
        u32 got = 0;
        for (i64 k = begin; got < count; ++k) {
            VERTEX other = columns[k];
            if (!is_child(k, begin, other, parent)) continue;
#pragma unroll
            for (u32 j = 0; j < FEW; ++j)
                if (j == got) child[j] = other;
            ++got;
        }
#pragma unroll
        for (u32 j = 0; j < FEW; ++j) {
            ranks[j] = j < count && count > 1 ? rank[child[j]] : NONE;
            if (j < count) weigh(child[j]);
        }
#pragma unroll
        for (u32 j = 0; j < FEW; ++j) {
            if (j >= count) continue;
            u32 smaller = 0;
#pragma unroll
            for (u32 i = 0; i < FEW; ++i) smaller += ranks[i] < ranks[j];
            queue[place + smaller] = child[j];
        }
    }

    // The same for many, by a warp; `slot` is where they may be kept meanwhile.
    template <class Weigh>
    __device__ __forceinline__ void write_many(i64 begin, i64 end, u32 count, VERTEX parent, u64 place, u64 slot,
                                               Weigh weigh) const {
        u32 got = 0;
        for (i64 first = begin; first < end; first += WARP) {
            i64 k = first + lane_id();
            VERTEX other = k < end ? columns[k] : 0;
            bool child = k < end && is_child(k, begin, other, parent);
            u32 lanes = __ballot_sync(ALL_LANES, child);
            if (child) spare[slot + got + __popc(lanes & lanes_below())] = rank[other];
            got += __popc(lanes);
        }
        __syncwarp();
        for (u32 j = lane_id(); j < count; j += WARP) {
            VERTEX mine = spare[slot + j];
            u32 smaller = 0;
            for (u32 i = 0; i < count; ++i) smaller += spare[slot + i] < mine;
            VERTEX child = by_rank[mine];
            queue[place + smaller] = child;
            weigh(child);
        }
        __syncwarp();
    }

    __device__ __forceinline__ void operator()(const Team& team, Frontier& f, Tally& tally, Tally& next) const {
        u64 count = f.end - f.begin;
        // Blocks take contiguous parts, since places follow the order of parents.
        u64 share = ((count + team.blocks() - 1) / team.blocks() + WARP - 1) / WARP * WARP;
        u64 low = team.block() * share < count ? team.block() * share : count;
        u64 high = low + share < count ? low + share : count;
        u64* of_blocks = team.solo ? sums.own : totals;
        if (threadIdx.x == 0 && team.block() == 0) next = Tally{0, 0, 0, 0};

        for (u64 i0 = low; i0 < high; i0 += blockDim.x) {
            u64 i = i0 + threadIdx.x;
            VERTEX vertex = i < high ? queue[f.begin + i] : 0;
            // A look at the claim spares most atomics, but in a narrow level it is only one latency more.
            each_arc(
                columns, i < high ? row_offsets[vertex] : 0, i < high ? row_offsets[vertex + 1] : 0,
                VERTEX(f.begin + i + 1), [&](VERTEX other) { return team.solo ? NONE : claim[other]; },
                [&](VERTEX other, VERTEX seen, VERTEX parent) {
                    if (seen > parent) atomicMin(&claim[other], parent);
                });
        }
        team.meet();

        u32 running = 0, kids = 0;
        for (u64 i0 = low; i0 < high; i0 += blockDim.x) {
            u64 i = i0 + threadIdx.x;
            VERTEX vertex = i < high ? queue[f.begin + i] : 0;
            u32 mine = count_children(i < high ? row_offsets[vertex] : 0, i < high ? row_offsets[vertex + 1] : 0,
                                      VERTEX(f.begin + i + 1));
            u32 total, before = block_exclusive_sum(mine, sums.scratch, total);
            if (i < high) {
                counts[i] = mine;
                places[i] = running + before;
            }
            running += total;
            kids = mine > kids ? mine : kids;
        }
        kids = __reduce_max_sync(ALL_LANES, kids);
        if (lane_id() == 0 && kids > MAX_KIDS) atomicMax(&tally.kids, u64(kids));
        if (threadIdx.x == 0) of_blocks[team.block()] = running;
        team.meet();
        if (tally.kids) {
            f.unsorted = 1;
            // Nobody may zero this tally before everybody has read it.
            team.meet();
            return;
        }

        if (warp_id() == 0) {
            u64 before = 0, all = 0;
            for (u32 b = lane_id(); b < team.blocks(); b += WARP) {
                u64 other = of_blocks[b];
                all += other;
                before += b < team.block() ? other : 0;
            }
            before = warp_sum(before);
            all = warp_sum(all);
            if (lane_id() == 0) {
                sums.before = before;
                sums.all = all;
            }
        }
        __syncthreads();
        Rows rows;
        auto weigh = [&](VERTEX vertex) { rows.add(row_offsets, vertex); };
        for (u64 i0 = low; i0 < high; i0 += blockDim.x) {
            u64 i = i0 + threadIdx.x;
            VERTEX vertex = i < high ? queue[f.begin + i] : 0;
            i64 begin = i < high ? row_offsets[vertex] : 0, end = i < high ? row_offsets[vertex + 1] : 0;
            u32 mine = i < high ? counts[i] : 0;
            u64 slot = sums.before + (i < high ? places[i] : 0);
            bool many = mine && (mine > FEW || end - begin > ALONE);
            if (mine && !many) write_few(begin, mine, VERTEX(f.begin + i + 1), f.end + slot, weigh);
            __syncwarp();
            for (u32 rest = __ballot_sync(ALL_LANES, many); rest; rest &= rest - 1) {
                u32 lane = __ffs(rest) - 1;
                u64 its = __shfl_sync(ALL_LANES, slot, lane);
                write_many(__shfl_sync(ALL_LANES, begin, lane), __shfl_sync(ALL_LANES, end, lane),
                           __shfl_sync(ALL_LANES, mine, lane), __shfl_sync(ALL_LANES, VERTEX(f.begin + i + 1), lane),
                           f.end + its, its, weigh);
            }
        }
        add_rows_of_block(&tally, rows);
        u64 found = sums.all;
        team.meet();
        f = Frontier{f.end, f.end + found, tally.arcs, tally.longest, f.levels + 1, 0};
    }
};

extern "C" __global__ void __launch_bounds__(MAX_NUMBERING, 1)
    number(const i64* row_offsets, const VERTEX* columns, const VERTEX* rank, const VERTEX* by_rank, VERTEX* claim,
           VERTEX* queue, VERTEX* spare, u32* counts, u32* places, u64* totals, u64 begin, u64 end, u64 arcs,
           u64 longest, u64 levels, u64 most_arcs, u64 most_row, u64 solo, u64 most_levels, Tally* tallies, u64* state,
           u64* arrivals) {
    __shared__ Sums sums;
    Numbering step{row_offsets, columns, rank, by_rank, claim, queue, spare, counts, places, totals, sums};
    go_through(step, Frontier{begin, end, arcs, longest, levels, 0}, Limits{most_arcs, most_row, solo, most_levels},
               tallies, state, arrivals);
}
