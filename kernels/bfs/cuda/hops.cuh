// A warp's own part of the frontier, which it takes many hops further without waiting for anybody.
//
// Records. `records` holds WIDTH neighbours of each vertex, NO_VERTEX where there are fewer. A vertex of higher
// degree has NO_VERTEX, its degree (at most LONGEST) and, of columns, where its row begins. One aligned read fetches
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
//
// What differs between rows that are columns and rows that are encoded is in sources/hops_columns.cuh and
// sources/hops_encoded.cuh:
//
//   fill_record(rows, v, begin, degree, record)   once per graph
//   begin_of(record)             where a long row begins, if its record has that
//   degree_of(g, v)              how many neighbours a row has
//   read_row(g, v, valid, begin, degree)   the same, and where the row begins, if that is known; 0 unless valid
//   fill_entries(g, next, base, mine, upto, total, begin, degree, v, parent)   fills the entries of a row per lane
//   take_rows(g, v, begin, degree, found, tail, depth), take_row(g, v, thread, threads, found, tail, depth)   claim what
//                                a row per lane leads to, or one row that `threads` go through: see wide.cuh

#include "kernels/bfs/cuda/sources/rows.cuh"
#include "kernels/cuda/grid_barrier.cuh"

constexpr VERTEX NO_VERTEX = VERTEX(~VERTEX(0));
constexpr u64 LONGEST = 1u << 30;

struct alignas(2 * sizeof(VERTEX)) Ids {
    VERTEX vertex, parent;
};

struct alignas(16) Quarter {
    VERTEX slot[16 / sizeof(VERTEX)];
};

struct Record {
    static constexpr u32 PARTS = WIDTH * sizeof(VERTEX) / 16, EACH = 16 / sizeof(VERTEX);
    Quarter part[PARTS];
    __device__ __forceinline__ VERTEX operator[](u32 k) const { return part[k / EACH].slot[k % EACH]; }
};

// Entries in a row: records, and who they belong to.
struct Entries {
    Record* records;
    Ids* ids;
    __device__ __forceinline__ Entries from(u32 first) const { return {records + first, ids + first}; }
    __device__ __forceinline__ void copy(u32 i, const Entries& other, u32 j) const {
        records[i] = other.records[j];
        ids[i] = other.ids[j];
    }
};

struct Graph {
    Rows rows;
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

__device__ __forceinline__ void read_row(const Graph& g, VERTEX vertex, bool valid, i64& begin, u64& degree);

__device__ __forceinline__ u64 begin_of(const Record& record);

__device__ __forceinline__ void fill_entries(const Graph& g, const Entries& next, u32 base, u32 mine, u32 upto, u32 total,
                                             i64 begin, u64 degree, VERTEX vertex, VERTEX parent);

// Enqueue one row per lane behind `tail`, in entries of WIDTH arcs; all lanes call it, those without a row with
// degree 0.
__device__ __forceinline__ void push_rows(const Graph& g, const Entries& next, u32& tail, i64 begin, u64 degree,
                                          VERTEX vertex, VERTEX parent) {
    bool refused = __any_sync(ALL_LANES, degree > g.row_limit);
    u32 mine = refused ? 0 : u32(degree + WIDTH - 1) / WIDTH, upto = warp_inclusive_sum(mine);
    u32 total = __shfl_sync(ALL_LANES, upto, WARP - 1), base = tail;
    tail += refused ? g.capacity + 1 : total;
    if (tail > g.capacity) return;
    fill_entries(g, next, base, mine, upto, total, begin, degree, vertex, parent);
}

// Claim what the arcs of some entries lead to, ROUNDS times a warp's lanes on their way at once, and enqueue it.
template <u32 ROUNDS>
__device__ __forceinline__ void take(const Graph& g, const Entries& entries, u32 first, u32 count,
                                     const Entries& next, u32& tail, u32 depth) {
    const VERTEX* slots = reinterpret_cast<const VERTEX*>(entries.records);
    Ids ids[ROUNDS];
    VERTEX end[ROUNDS];
    Record record[ROUNDS];
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
            for (u32 i = 0; i < Record::PARTS; ++i)
                reinterpret_cast<uint4&>(record[r].part[i]) = __ldg(from + i);
            label[r] = exchange_label(g, end[r], ids[r].vertex, depth);
            if (g.ahead) look_ahead(g, end[r], ids[r].vertex);
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
                begin = begin_of(record[k]);
                vertex = end[k];
                parent = ids[k].vertex;
            }
        }
        if (g.logged) count_arcs(g, depth, degree);
        if (tail <= g.capacity) push_rows(g, next, tail, i64(begin), degree, vertex, parent);
    }
}

// Take a warp's `count` entries one hop further, to this depth; returns how many there are then, more than
// `capacity` if they were too many to be kept.
__device__ __forceinline__ u32 hop(const Graph& g, const Entries& entries, u32 count, const Entries& next,
                                   u32 depth) {
    constexpr u32 ROUNDS = WIDTH * sizeof(VERTEX) <= 16 ? 4 : sizeof(VERTEX) == 4 ? 2 : 1, EACH = WARP / WIDTH;
    u32 tail = 0;
    // Rounds without entries cost their instructions all the same.
    if (count <= EACH)
        take<1>(g, entries, 0, count, next, tail, depth);
    else if (ROUNDS > 2 && count <= 2 * EACH)
        take<2>(g, entries, 0, count, next, tail, depth);
    else
        for (u32 first = 0; first < count; first += ROUNDS * EACH)
            take<ROUNDS>(g, entries, first, count, next, tail, depth);
    __syncwarp();
    return tail <= g.capacity ? tail : g.capacity + 1;
}
