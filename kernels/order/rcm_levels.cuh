// Many levels in one launch: how a level is gone through by the grid, or by the first block alone where it is narrow,
// whose barrier costs much less than the grid's; and how the arcs of a level are dealt to lanes and warps.

#include "kernels/cuda/grid_barrier.cuh"
#include "kernels/order/rcm_arcs.cuh"

constexpr i64 ALONE = 32;       // arcs that a lane goes through before its warp helps
constexpr u32 BATCH = 4;        // arcs whose ends a lane loads at once
constexpr u32 SIDES = 3;        // tallies in turn: of this level, zeroed for the next, and still read of the last

struct Frontier {
    u64 begin, end, arcs, longest, levels, unsorted;
};

__device__ __forceinline__ void write_frontier(u64* state, const Frontier& f) {
    state[0] = f.begin;
    state[1] = f.end;
    state[2] = f.arcs;
    state[3] = f.longest;
    state[4] = f.levels;
    state[5] = f.unsorted;
}

struct Limits {
    u64 arcs, row, solo, levels;
    __device__ __forceinline__ bool go(const Frontier& f) const {
        return !f.unsorted && f.end > f.begin && f.arcs <= arcs && f.longest <= row && f.levels < levels;
    }
};

// Who goes through a level: the grid or one block.
struct Team {
    u64* arrivals;
    bool solo;
    __device__ __forceinline__ u32 block() const { return solo ? 0 : blockIdx.x; }
    __device__ __forceinline__ u32 blocks() const { return solo ? 1 : gridDim.x; }
    __device__ __forceinline__ void meet() const {
        if (solo)
            __syncthreads();
        else
            grid_barrier(arrivals);
    }
};

// Add up what all threads of a block have found, in one access to the tally; the block meets in between.
__device__ __forceinline__ void add_rows_of_block(Tally* tally, const Rows& rows) {
    __shared__ u64 of_warp[2][WARP];
    u64 arcs = warp_sum(rows.arcs), longest = warp_max(rows.longest);
    if (lane_id() == 0) {
        of_warp[0][warp_id()] = arcs;
        of_warp[1][warp_id()] = longest;
    }
    __syncthreads();
    if (warp_id()) return;
    bool some = lane_id() < blockDim.x / WARP;
    arcs = warp_sum(some ? of_warp[0][lane_id()] : 0);
    longest = warp_max(some ? of_warp[1][lane_id()] : 0);
    if (lane_id() == 0 && arcs) {
        atomicAdd(&tally->arcs, arcs);
        atomicMax(&tally->longest, longest);
    }
}

// Call act(neighbour, probe(neighbour), value) for every arc of the lanes' rows; whole warps call it.
template <class Probe, class Act>
__device__ __forceinline__ void each_arc(const VERTEX* columns, i64 begin, i64 end, VERTEX value, Probe probe, Act act) {
    bool lengthy = end - begin > ALONE;
    for (i64 k = begin; !lengthy && k < end; k += BATCH) {
        VERTEX ends[BATCH], seen[BATCH];
#pragma unroll
        for (u32 j = 0; j < BATCH; ++j)
            if (k + j < end) ends[j] = columns[k + j];
#pragma unroll
        for (u32 j = 0; j < BATCH; ++j)
            if (k + j < end) seen[j] = probe(ends[j]);
#pragma unroll
        for (u32 j = 0; j < BATCH; ++j)
            if (k + j < end) act(ends[j], seen[j], value);
    }
    __syncwarp();
    for (u32 rest = __ballot_sync(ALL_LANES, lengthy); rest; rest &= rest - 1) {
        u32 lane = __ffs(rest) - 1;
        i64 to = __shfl_sync(ALL_LANES, end, lane);
        VERTEX of_lane = __shfl_sync(ALL_LANES, value, lane);
        for (i64 k = __shfl_sync(ALL_LANES, begin, lane) + lane_id(); k < to; k += WARP) {
            VERTEX other = columns[k];
            act(other, probe(other), of_lane);
        }
    }
}

// Go through levels while `limits` allow it, alone where they are narrow; `step` returns after a meeting.
template <class Step>
__device__ __forceinline__ void go_through(Step& step, Frontier f, const Limits& limits, Tally* tallies, u64* state,
                                           u64* arrivals) {
    __shared__ Tally own[SIDES];
    u32 turn = 0, own_turn = 0;
    bool alone = false;
    while (alone || limits.go(f)) {
        if (!alone && f.end - f.begin <= limits.solo) {
            if (blockIdx.x) {
                grid_barrier(arrivals);
                f = Frontier{state[0], state[1], state[2], state[3], state[4], state[5]};
                continue;
            }
            alone = true;
            own_turn = 0;
            if (threadIdx.x < SIDES) own[threadIdx.x] = Tally{0, 0, 0, 0};
            __syncthreads();
        }
        u32& side = alone ? own_turn : turn;
        u32 after = side + 1 < SIDES ? side + 1 : 0;
        Tally* step_tallies = alone ? own : tallies;
        step(Team{arrivals, alone}, f, step_tallies[side], step_tallies[after]);
        side = after;
        if (alone && !(limits.go(f) && f.end - f.begin <= 2 * limits.solo)) {
            alone = false;
            if (threadIdx.x == 0) write_frontier(state, f);
            grid_barrier(arrivals);
        }
    }
    // A block may still be reading what the first wrote after a level of its own.
    grid_barrier(arrivals);
    if (global_thread() == 0) write_frontier(state, f);
}
