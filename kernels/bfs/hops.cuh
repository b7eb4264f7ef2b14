// A warp's own part of the frontier, which it takes many hops further without waiting for anybody.
//
// Records. `records` holds WIDTH neighbours of each vertex, NO_VERTEX where there are fewer. A vertex of higher
// degree has NO_VERTEX, its degree (at most LONGEST) and where its row begins. One aligned read fetches
// a record, and it is issued together with the claim of its vertex: a hop costs one trip to memory.
//
// Entries. A vertex with its record and its parent, in shared memory; WIDTH lanes take one, an arc each. A longer
// row makes several entries. The arc back to the parent is left out: it can improve nothing. A lone warp pays for
// each instruction, so that few of them count as much as the trip.
//
// Labels only fall, by atomics, and whoever lowers one enqueues the vertex again. So warps need not be at the
// same hop: a vertex claimed too deep by a warp that ran ahead is claimed again. If everything up to depth D is
// exact when all warps begin, then after k hops of each everything up to D + k is: a vertex of depth D + i has a
// neighbour that some warp made exact at its hop i - 1, and the same warp claims it at hop i. An entry whose
// vertex was improved later claims too deep labels, and so nothing.

#include "kernels/bfs/labels.cuh"
#include "kernels/cuda/grid_barrier.cuh"

constexpr VERTEX NO_VERTEX = VERTEX(~VERTEX(0));
constexpr u64 LONGEST = 1u << 30;

struct alignas(2 * sizeof(VERTEX)) Ids {
    VERTEX vertex, parent;
};

struct alignas(16) Quarter {
    VERTEX slot[16 / sizeof(VERTEX)];
};

template <u32 WIDTH>
struct Record {
    static constexpr u32 PARTS = WIDTH * sizeof(VERTEX) / 16, EACH = 16 / sizeof(VERTEX);
    Quarter part[PARTS];
    __device__ __forceinline__ VERTEX operator[](u32 k) const { return part[k / EACH].slot[k % EACH]; }
};

// Entries in a row: records, and who they belong to.
template <u32 WIDTH>
struct Entries {
    Record<WIDTH>* records;
    Ids* ids;
    __device__ __forceinline__ Entries from(u32 first) const { return {records + first, ids + first}; }
    __device__ __forceinline__ void copy(u32 i, const Entries& other, u32 j) const {
        records[i] = other.records[j];
        ids[i] = other.ids[j];
    }
};

struct Graph {
    const i64* row_offsets;
    const VERTEX* columns;
    const VERTEX* records;
    i32* distance;
    u64* keys;
    u64* log;
    u64 vertices, logged;
    u32 max_depth, ahead, row_limit, capacity;
};

// Give `vertex` this depth, and keep the smallest predecessor there; returns the label that it had.
__device__ __forceinline__ auto exchange_label(const Graph& g, VERTEX vertex, VERTEX parent, u32 depth) {
    if constexpr (TREE)
        return atomicMin(&g.keys[vertex], make_key(depth, parent));
    else
        return atomicMin(reinterpret_cast<u32*>(&g.distance[vertex]), depth);
}

// Whether a label is deeper than this depth.
__device__ __forceinline__ bool deeper(u64 label, u32 depth) { return (TREE ? label >> KEY_SHIFT : label) > depth; }

__device__ __forceinline__ void count_arcs(const Graph& g, u32 depth, u64 arcs) {
    arcs = warp_sum(arcs);
    if (arcs && lane_id() == 0) atomicAdd(&g.log[1 + (depth < g.logged ? depth : g.logged - 1)], arcs);
}

__device__ __forceinline__ void prefetch(const void* address) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

// Where this path leads if it goes straight on, as it does in numberings that follow the space.
template <u32 WIDTH>
__device__ __forceinline__ void look_ahead(const Graph& g, VERTEX vertex, VERTEX parent) {
    u64 there = u64(vertex) + g.ahead * (u64(vertex) - u64(parent));
    if (there < g.vertices) {
        prefetch(g.records + there * WIDTH);
        if (TREE)
            prefetch(g.keys + there);
        else
            prefetch(g.distance + there);
    }
}

// Enqueue one row per lane behind `tail`, in entries of WIDTH arcs; all lanes call it, those without a row with
// degree 0.
template <u32 WIDTH>
__device__ __forceinline__ void push_rows(const Graph& g, const Entries<WIDTH>& next, u32& tail, i64 begin, u64 degree,
                                          VERTEX vertex, VERTEX parent) {
    bool refused = __any_sync(ALL_LANES, degree > g.row_limit);
    u32 mine = refused ? 0 : u32(degree + WIDTH - 1) / WIDTH, upto = warp_inclusive_sum(mine);
    u32 total = __shfl_sync(ALL_LANES, upto, WARP - 1), base = tail;
    tail += refused ? g.capacity + 1 : total;
    if (tail > g.capacity) return;
    VERTEX* slots = reinterpret_cast<VERTEX*>(next.records);
    for (u32 first = 0; first < total * WIDTH; first += WARP) {
        u32 k = (first + lane_id()) / WIDTH, from = 0;
#pragma unroll
        for (u32 step = WARP / 2; step; step /= 2)
            if (k >= __shfl_sync(ALL_LANES, upto, from + step - 1)) from += step;
        u64 offset = u64(k - __shfl_sync(ALL_LANES, upto - mine, from)) * WIDTH + lane_id() % WIDTH;
        i64 row = __shfl_sync(ALL_LANES, begin, from);
        u64 arcs = __shfl_sync(ALL_LANES, degree, from);
        Ids ids{__shfl_sync(ALL_LANES, vertex, from), __shfl_sync(ALL_LANES, parent, from)};
        if (k < total) {
            slots[u64(base) * WIDTH + first + lane_id()] = offset < arcs ? g.columns[row + i64(offset)] : NO_VERTEX;
            if (lane_id() % WIDTH == 0) next.ids[base + k] = ids;
        }
    }
}

// Claim what the arcs of some entries lead to, ROUNDS times a warp's lanes on their way at once, and enqueue it.
template <u32 WIDTH, u32 ROUNDS>
__device__ __forceinline__ void take(const Graph& g, const Entries<WIDTH>& entries, u32 first, u32 count,
                                     const Entries<WIDTH>& next, u32& tail, u32 depth) {
    const VERTEX* slots = reinterpret_cast<const VERTEX*>(entries.records);
    Ids ids[ROUNDS];
    VERTEX end[ROUNDS];
    Record<WIDTH> record[ROUNDS];
    decltype(exchange_label(g, 0, 0, 0)) label[ROUNDS];
#pragma unroll
    for (u32 r = 0; r < ROUNDS; ++r) {
        u32 at = first * WIDTH + r * WARP + lane_id();
        bool live = at < count * WIDTH;
        end[r] = live ? slots[at] : NO_VERTEX;
        if (live) ids[r] = entries.ids[at / WIDTH];
        label[r] = 0;
        if (end[r] != NO_VERTEX && end[r] != ids[r].parent) {
            const uint4* from = reinterpret_cast<const uint4*>(g.records + u64(end[r]) * WIDTH);
#pragma unroll
            for (u32 i = 0; i < Record<WIDTH>::PARTS; ++i)
                reinterpret_cast<uint4&>(record[r].part[i]) = __ldg(from + i);
            label[r] = exchange_label(g, end[r], ids[r].vertex, depth);
            if (g.ahead) look_ahead<WIDTH>(g, end[r], ids[r].vertex);
        }
    }
    if (depth >= g.max_depth) return;
    bool any_row = false;
#pragma unroll
    for (u32 r = 0; r < ROUNDS; ++r) {
        bool won = deeper(label[r], depth), row = won && record[r][0] == NO_VERTEX, whole = won && !row;
        any_row |= row;
        u32 lanes = __ballot_sync(ALL_LANES, whole), place = tail + __popc(lanes & lanes_below());
        tail += __popc(lanes);
        if (whole && place < g.capacity) {
            next.records[place] = record[r];
            next.ids[place] = Ids{end[r], ids[r].vertex};
        }
        if (g.logged) {
            u32 degree = 0;
#pragma unroll
            for (u32 k = 0; k < WIDTH; ++k) degree += whole && record[r][k] != NO_VERTEX;
            count_arcs(g, depth, degree);
        }
    }
    if (!__any_sync(ALL_LANES, any_row)) return;
#pragma unroll 1
    for (u32 r = 0; r < ROUNDS; ++r) {
        u64 degree = 0, begin = 0;
        VERTEX vertex = 0, parent = 0;
#pragma unroll
        for (u32 k = 0; k < ROUNDS; ++k) {
            // A vertex without arcs has NO_VERTEX for its degree.
            if (k == r && deeper(label[k], depth) && record[k][0] == NO_VERTEX && record[k][1] != NO_VERTEX) {
                degree = record[k][1];
                begin = u64(record[k][2]) | (sizeof(VERTEX) == 4 ? u64(record[k][3]) << 32 : 0);
                vertex = end[k];
                parent = ids[k].vertex;
            }
        }
        if (g.logged) count_arcs(g, depth, degree);
        if (tail <= g.capacity) push_rows<WIDTH>(g, next, tail, i64(begin), degree, vertex, parent);
    }
}

// Take a warp's `count` entries one hop further, to this depth; returns how many there are then, more than
// `capacity` if they were too many to be kept.
template <u32 WIDTH>
__device__ __forceinline__ u32 hop(const Graph& g, const Entries<WIDTH>& entries, u32 count, const Entries<WIDTH>& next,
                                   u32 depth) {
    constexpr u32 ROUNDS = WIDTH * sizeof(VERTEX) <= 16 ? 4 : sizeof(VERTEX) == 4 ? 2 : 1, EACH = WARP / WIDTH;
    u32 tail = 0;
    // Rounds without entries cost their instructions all the same.
    if (count <= EACH)
        take<WIDTH, 1>(g, entries, 0, count, next, tail, depth);
    else if (ROUNDS > 2 && count <= 2 * EACH)
        take<WIDTH, 2>(g, entries, 0, count, next, tail, depth);
    else
        for (u32 first = 0; first < count; first += ROUNDS * EACH)
            take<WIDTH, ROUNDS>(g, entries, first, count, next, tail, depth);
    __syncwarp();
    return tail <= g.capacity ? tail : g.capacity + 1;
}
