// Two-phase BFS (Merrill, Garland, Grimshaw, PPoPP 2012, section 5.3): per level one phase expands the
// vertex queue into an edge queue, one contracts the edge queue into the next vertex queue. Both are steps
// of one cooperative launch, so that the level loop is on the device.
//
// Expansion gathers by scan, warp and block (section 4.1): rows of at least a block's threads are read by
// the block, of at least 32 by a warp, shorter ones by a block-wide scan into a shared gather list.
// Contraction filters by bitmask, warp culling and history culling (section 4.2) before the claim.
//
// Departures from the paper. The claim is atomic, so that every vertex enters the vertex queue once and the
// edge queue never holds more than `arcs` entries (the paper sizes it by trial). With TREE (see labels.cuh)
// the bitmask holds the levels before this one only, and a neighbour is culled only for the sake of the
// same neighbour with a predecessor that is not larger.
//
// Contract. row_offsets i64 (vertices + 1), columns VERTEX. vertex_queue VERTEX (vertices), edge_queue and
// (if TREE) parent_queue VERTEX (arcs), bitmask u32 (vertices / 32, rounded up). Block: the macro BLOCK.
// Grid: no more blocks than run at the same time.
//
// variants VERTEX: u32 u64
// variants TREE: 0 32 33
// variants BLOCK: 128 256

#include "kernels/bfs/labels.cuh"
#include "kernels/cuda/grid_barrier.cuh"

constexpr u32 HISTORY = 1024;   // vertices that a block remembers
constexpr u32 WARP_HASH = 128;  // cells of a warp's table, as in the paper
constexpr u32 GATHER = 2 * BLOCK;
constexpr u32 PER_THREAD = 4;  // edges that a thread contracts per reservation
constexpr bool REMEMBERS = !TREE || sizeof(VERTEX) == 4;  // a remembered pair must be one 64-bit word

enum Control : u32 { EDGES = 0, VERTICES = 16, CONTROL_WORDS = 32 };

struct Shared {
    u64 sums[WARP + 1];
    u64 base;
    u32 owner;
    i64 begin, length;
    u64 place;
    VERTEX parent;
    i64 gather[GATHER];
    VERTEX gather_parent[TREE ? GATHER : 1];
    u64 history[HISTORY];
    u8 winner[BLOCK / WARP][WARP_HASH];
};

struct Queues {
    const i64* row_offsets;
    const VERTEX* __restrict__ columns;
    i32* distance;
    u64* keys;
    VERTEX* vertices;
    VERTEX* __restrict__ edges;
    VERTEX* parents;
    u8* bitmask;
    u64* control;
};

// A bit lost to a race between bytes costs work, never correctness (section 4.2).
__device__ __forceinline__ void mark(u8* bitmask, VERTEX vertex) {
    volatile u8* byte = bitmask + (vertex >> 3);
    *byte = u8(*byte | 1u << (vertex & 7));
}

__device__ __forceinline__ void put_edge(const Queues& q, u64 place, i64 arc, VERTEX parent) {
    q.edges[place] = __ldg(&q.columns[arc]);
    if (TREE) q.parents[place] = parent;
}

// Reserve room for the whole block; every thread gets the first place.
__device__ __forceinline__ u64 reserve(u64* tail, u64 total, Shared& shared) {
    if (threadIdx.x == 0) shared.base = total ? atomicAdd(tail, total) : 0;
    __syncthreads();
    return shared.base;
}

__device__ __forceinline__ void expand(const Queues& q, u64 first, u64 last, u64 seen_edges, Shared& shared) {
    // Hubs lie together in the queue, so neighbouring entries go to different blocks.
    for (u64 tile = first + blockIdx.x; tile < last; tile += u64(gridDim.x) * BLOCK) {
        u64 i = tile + u64(threadIdx.x) * gridDim.x;
        bool valid = i < last;
        VERTEX vertex = valid ? q.vertices[i] : VERTEX(0);
        i64 begin = valid ? q.row_offsets[vertex] : 0;
        i64 length = valid ? q.row_offsets[u64(vertex) + 1] - begin : 0;
        if (TREE && valid) mark(q.bitmask, vertex);

        u64 coarse = length >= WARP ? u64(length) : 0, fine = u64(length) - coarse;
        u64 coarse_total, fine_total;
        u64 place = block_exclusive_sum<u64>(coarse, shared.sums, coarse_total);
        u64 rank = block_exclusive_sum<u64>(fine, shared.sums, fine_total);
        u64 base = reserve(&q.control[EDGES], coarse_total + fine_total, shared) - seen_edges;
        place += base;

        // By block: one long row after the other is elected.
        while (true) {
            if (threadIdx.x == 0) shared.owner = BLOCK;
            __syncthreads();
            if (length >= BLOCK) shared.owner = threadIdx.x;
            __syncthreads();
            if (shared.owner == BLOCK) break;
            if (threadIdx.x == shared.owner) {
                shared.begin = begin;
                shared.length = length;
                shared.place = place;
                shared.parent = vertex;
                length = 0;
            }
            __syncthreads();
#pragma unroll 4
            for (i64 k = threadIdx.x; k < shared.length; k += BLOCK)
                put_edge(q, shared.place + k, shared.begin + k, shared.parent);
            __syncthreads();
        }

        // By warp.
        u32 rows = __ballot_sync(ALL_LANES, length >= WARP);
        while (rows) {
            u32 from = __ffs(rows) - 1;
            rows &= rows - 1;
            i64 row = __shfl_sync(ALL_LANES, begin, from), arcs = __shfl_sync(ALL_LANES, length, from);
            u64 to = __shfl_sync(ALL_LANES, place, from);
            VERTEX parent = __shfl_sync(ALL_LANES, vertex, from);
#pragma unroll 4
            for (i64 k = lane_id(); k < arcs; k += WARP) put_edge(q, to + k, row + k, parent);
        }

        // By scan: in rounds, threads list their arcs and the block gathers them.
        u64 taken = 0;
        for (u64 done = 0; done < fine_total; done += GATHER) {
            for (; taken < fine && rank + taken < done + GATHER; ++taken) {
                shared.gather[rank + taken - done] = begin + i64(taken);
                if (TREE) shared.gather_parent[rank + taken - done] = vertex;
            }
            __syncthreads();
            u64 now = fine_total - done < GATHER ? fine_total - done : GATHER;
            for (u64 k = threadIdx.x; k < now; k += BLOCK)
                put_edge(q, base + coarse_total + done + k, shared.gather[k], TREE ? shared.gather_parent[k] : VERTEX(0));
            __syncthreads();
        }
    }
}

// Whether another edge of this warp or block already stands for this one; all lanes call it.
__device__ __forceinline__ bool culled(bool live, VERTEX vertex, VERTEX parent, Shared& shared) {
    volatile u8* winners = shared.winner[warp_id()];
    __syncwarp();
    if (live) winners[vertex % WARP_HASH] = u8(lane_id());
    __syncwarp();
    u32 winner = live ? winners[vertex % WARP_HASH] : lane_id();
    VERTEX its = __shfl_sync(ALL_LANES, vertex, winner), its_parent = __shfl_sync(ALL_LANES, parent, winner);
    if (winner != lane_id() && its == vertex && (!TREE || its_parent <= parent)) return true;
    if (REMEMBERS && live) {
        volatile u64* cell = &shared.history[vertex % HISTORY];
        u64 known = *cell;
        u64 mine = TREE ? u64(vertex) << 32 | u64(parent) : u64(vertex);
        if (TREE ? known >> 32 == vertex && known <= mine : known == mine) return true;
        *cell = mine;
    }
    return false;
}

__device__ __forceinline__ bool claim(const Queues& q, VERTEX vertex, VERTEX parent, u32 depth) {
    if (TREE) return atomicMin(&q.keys[vertex], make_key(depth, parent)) == UNREACHED;
    mark(q.bitmask, vertex);
    return q.distance[vertex] == -1 && atomicCAS(&q.distance[vertex], -1, i32(depth)) == -1;
}

__device__ __forceinline__ void contract(const Queues& q, u64 edges, u32 depth, Shared& shared) {
    for (u32 i = threadIdx.x; i < HISTORY; i += BLOCK) shared.history[i] = ~0ull;
    __syncthreads();
    constexpr u64 TILE = u64(BLOCK) * PER_THREAD;
    for (u64 tile = u64(blockIdx.x) * TILE; tile < edges; tile += u64(gridDim.x) * TILE) {
        VERTEX vertex[PER_THREAD], parent[PER_THREAD];
        bool fresh[PER_THREAD];
        u32 count = 0;
#pragma unroll
        for (u32 k = 0; k < PER_THREAD; ++k) {
            u64 i = tile + k * BLOCK + threadIdx.x;
            fresh[k] = i < edges;
            vertex[k] = fresh[k] ? q.edges[i] : VERTEX(0);
            parent[k] = TREE && fresh[k] ? q.parents[i] : VERTEX(0);
        }
#pragma unroll
        for (u32 k = 0; k < PER_THREAD; ++k)
            fresh[k] = fresh[k] && !(q.bitmask[vertex[k] >> 3] >> (vertex[k] & 7) & 1);
#pragma unroll
        for (u32 k = 0; k < PER_THREAD; ++k) {
            bool dropped = culled(fresh[k], vertex[k], parent[k], shared);
            fresh[k] = fresh[k] && !dropped && claim(q, vertex[k], parent[k], depth);
            count += fresh[k];
        }
        u64 total;
        u64 place = block_exclusive_sum<u64>(count, shared.sums, total);
        place += reserve(&q.control[VERTICES], total, shared);
#pragma unroll
        for (u32 k = 0; k < PER_THREAD; ++k)
            if (fresh[k]) q.vertices[place++] = vertex[k];
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    search(const i64* row_offsets, const VERTEX* columns, i32* distance, u64* keys, i64* predecessor,
           VERTEX* vertex_queue, VERTEX* edge_queue, VERTEX* parent_queue, u32* bitmask, u64* control, u64* log,
           u64* arrivals, u64 vertices, u64 max_depth, u64 logged, u64 source) {
    __shared__ Shared shared;
    Queues q{row_offsets, columns,      distance,                       keys,   vertex_queue,
             edge_queue,  parent_queue, reinterpret_cast<u8*>(bitmask), control};
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        if (TREE)
            keys[v] = v == source ? make_key(0, NO_PREDECESSOR) : UNREACHED;
        else
            distance[v] = v == source ? 0 : -1;
    }
    for (u64 word = global_thread(); word * 32 < vertices; word += global_threads())
        bitmask[word] = word == source >> 5 ? 1u << (source & 31) : 0;
    if (global_thread() == 0) {
        vertex_queue[0] = VERTEX(source);
        control[EDGES] = 0;
        control[VERTICES] = 1;
    }
    grid_barrier(arrivals);

    u64 first = 0, last = 1, seen_edges = 0;
    u32 level = 0;
    while (last > first && level < max_depth) {
        expand(q, first, last, seen_edges, shared);
        grid_barrier(arrivals);
        u64 all_edges = load_relaxed(&control[EDGES]);
        if (logged && global_thread() == 0) {
            u64 cell = 1 + (level < logged ? level : logged - 1);
            log[cell] = all_edges - seen_edges + (level < logged ? 0 : log[cell]);
        }
        ++level;
        contract(q, all_edges - seen_edges, level, shared);
        grid_barrier(arrivals);
        seen_edges = all_edges;
        first = last;
        last = load_relaxed(&control[VERTICES]);
    }
    if (global_thread() == 0) log[0] = level;
    write_wide(keys, distance, predecessor, vertices);
}
