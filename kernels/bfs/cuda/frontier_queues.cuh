// Queues of vertices and of arcs' ends, and the steps that lead from one level to the next (Merrill, Garland,
// Grimshaw, PPoPP 2012, section 5), for every search whose edge frontier goes through global memory.
//
// A queue is a ring: entry i of all that were ever reserved lies at i mod capacity. A level's entries are
// [begin, end); a reservation that would overwrite what is still needed is given up, and stamps FULL with the step.
// Where every vertex is claimed once (LOOK_ATOMIC) that cannot happen: `vertices` and `arcs` entries suffice
// for the whole search. Where claims race, duplicates may fill a queue; then the step's output is dropped and
// made anew from the labels, which hold every vertex found, once (`refill`).
//
// Work is assigned in tiles, at most one row or WIDE arcs per thread. Even shares: tile t goes to block t mod
// grid, and there are as many for each. Stealing: a block takes its next tile from a counter (section 4.1). With
// RUNS a block has full tiles that follow one another, at least RUN of them, as in the paper's implementation: what
// lies together in the queue is then looked up by one block, a tile after the other, so that its history and the
// labels show duplicates that blocks side by side would all find unvisited.
// Frontiers smaller than the grid is wide are cut finer, since any row may be long. Vertices, and arcs if they
// are few, are assigned round-robin, since hubs lie together in the queue. Where claims race neither is done, since
// duplicates lie together too, and only a block that gets both can cull one.

#include "kernels/bfs/cuda/gather.cuh"
#include "kernels/bfs/cuda/lookup.cuh"
#include "kernels/cuda/grid_barrier.cuh"

constexpr u32 WIDE = 4;        // arcs that a thread of a contraction looks up at a time
constexpr u32 STOLEN = 4;      // tiles per block, at least, where tiles are stolen
constexpr u64 RUN = 4;         // tiles of a block, at least, with RUNS
constexpr u64 DIRECT = 8192;   // arcs of a level that is searched in one step with claims alone
constexpr u64 NOWHERE = ~0ull;
constexpr u32 MAX_THREADS = 512;  // of a block
constexpr bool SLIM = sizeof(VERTEX) == 4 || !TREE;  // other variants need too many registers for more than one such

// Words of `control`. Those that a step counts in have cache lines of their own and three copies, so that it can
// zero the next step's while no block still reads them: entries added to the queues, and tiles taken.
enum Control : u32 { EDGES = 0, VERTICES = 16, TILES = 32, SIDE_WORDS = 48, SIDES = 3 };
enum : u32 { DEEPEST = SIDES * SIDE_WORDS, FULL = DEEPEST + 16, CONTROL_WORDS = FULL + 16 };

struct Queue {
    VERTEX* items;
    VERTEX* parents;  // of arcs, if TREE
    u64 capacity;
    u32 counter;  // EDGES or VERTICES
    u64 end = 0;  // entries reserved before this step
};

struct Shared {
    GatherShared gather;
    u64 base;
    u64 oldest, gathered;
    u64 tile;
};

struct Search {
    const i64* row_offsets;
    const VERTEX* columns;
    Status status;
    Culling culling;
    Queue edges, vertices;
    u64* control;
    GatherWay way;
    u32 parts;     // of a look-up
    bool steals;
    u32 least;     // items of a tile
    u64 count;     // vertices
    u32 step = 0;  // begun so far
    u64* counters = nullptr;  // of this step
};

__device__ __forceinline__ u64 label_depth(const Search& s, u64 vertex) {
    return TREE ? s.status.keys[vertex] >> KEY_SHIFT : u64(s.status.distance[vertex]);
}

// Dynamic shared memory: history if there is one, gather list, owners of that if TREE, what is left (`more`
// vertices for each warp), and warps' tables if there are any; parts.py counts the bytes. Returns what is left.
__device__ __forceinline__ VERTEX* share_out(Search& s, Shared& shared, u64* arena, u32 more) {
    u32 listed = LISTED * blockDim.x;
    i64* arcs = reinterpret_cast<i64*>(arena + (s.parts & LOOK_HISTORY ? HISTORY : 0));
    VERTEX* owners = reinterpret_cast<VERTEX*>(arcs + listed);
    VERTEX* left = owners + (TREE ? listed : 0);
    s.culling = {arena, reinterpret_cast<u8*>(left + blockDim.x / WARP * more)};
    if (threadIdx.x == 0) {
        shared.gather.arcs = arcs;
        shared.gather.owners = owners;
    }
    if (s.parts & LOOK_HISTORY) s.culling.clear();
    return left;
}

// A search whose queues hold vertices alone; who has a queue of arcs sets `edges` beside.
__device__ __forceinline__ Search make_search(const i64* row_offsets, const VERTEX* columns, const Status& status,
                                              VERTEX* vertex_queue, u64 vertex_room, u64* control, u64 gather, u64 parts,
                                              u64 steals, u64 least, u64 vertices) {
    Search s{row_offsets, columns, status};
    s.vertices = {vertex_queue, nullptr, vertex_room, VERTICES};
    s.control = control;
    s.way = gather_way(u32(gather));
    s.parts = u32(parts);
    s.steals = steals != 0;
    s.least = u32(least);
    s.count = vertices;
    return s;
}

// Labels and bits of a new search: nothing but the source is visited.
__device__ __forceinline__ void begin_labels(const Search& s, u64 source) {
    for (u64 v = global_thread(); v < s.count; v += global_threads()) {
        if (TREE)
            s.status.keys[v] = v == source ? make_key(0, NO_PREDECESSOR) : UNREACHED;
        else
            s.status.distance[v] = v == source ? 0 : -1;
    }
    for (u64 word = global_thread(); word * 32 < s.count; word += global_threads())
        s.status.bitmask[word] = word == source >> 5 ? 1u << (source & 31) : 0;
    for (u64 word = global_thread(); word < CONTROL_WORDS; word += global_threads()) s.control[word] = 0;
}

__device__ __forceinline__ void begin_step(Search& s) {
    ++s.step;
    s.counters = s.control + s.step % SIDES * SIDE_WORDS;
    u64* next = s.control + (s.step + 1) % SIDES * SIDE_WORDS;
    if (global_thread() == 0) next[EDGES] = next[VERTICES] = next[TILES] = 0;
}

// After the barrier that ends a step: entries are now reserved to here.
__device__ __forceinline__ u64 end_of(const Search& s, const Queue& queue) {
    return queue.end + load_relaxed(&s.counters[queue.counter]);
}

// Calls body(tile, share, tiles) for each tile of this block with the items of a tile; every thread of it does.
template <class Body>
__device__ __forceinline__ void each_tile(Search& s, Shared& shared, u64 items, u64 width, const Body& body) {
    begin_step(s);
    u64 grid = gridDim.x;
    u64 rounds = (items + grid * width - 1) / (grid * width);
    if (s.steals && rounds < STOLEN) rounds = STOLEN;
    u64 share = (items + grid * rounds - 1) / (grid * rounds);
    if (share < s.least) share = s.least;
    if (share > width) share = width;
    if (RUNS) {
        u64 run = (items + grid * width - 1) / (grid * width);
        if (run < RUN) run = RUN;
        u64 tiles = (items + width - 1) / width, first = blockIdx.x * run;
        for (u64 tile = first; tile < first + run && tile < tiles; ++tile) body(tile, width, tiles);
        return;
    }
    u64 tiles = (items + share - 1) / share;
    for (u64 tile = blockIdx.x; tile < tiles;) {
        u64 next = tile + grid;
        if (s.steals && tiles > grid && threadIdx.x == 0) next = grid + atomicAdd(&s.counters[TILES], 1ull);
        body(tile, share, tiles);
        if (s.steals && tiles > grid) {
            if (threadIdx.x == 0) shared.tile = next;
            __syncthreads();
            next = shared.tile;
            __syncthreads();
        }
        tile = next;
    }
}

__device__ __forceinline__ u64 inside(const Queue& queue, u64 entry) {
    return entry < queue.capacity ? entry : entry % queue.capacity;
}

// The same for what is less than a round behind the start.
__device__ __forceinline__ u64 wrap(const Queue& queue, u64 place) {
    return place < queue.capacity ? place : place - queue.capacity;
}

// The item that this thread gets of a tile of vertices, beyond the last if none.
__device__ __forceinline__ u64 of_tile(const Search& s, u64 tile, u64 share, u64 tiles) {
    if (s.parts & LOOK_ATOMIC) return tile + threadIdx.x * tiles;
    return threadIdx.x < share ? tile * share + threadIdx.x : NOWHERE;
}

// Where the `amount` entries go of which the step's counter said `before`; NOWHERE if they would overwrite `oldest`
// or what follows it.
__device__ __forceinline__ u64 place_of(const Search& s, const Queue& queue, u64 before, u64 amount, u64 oldest) {
    u64 base = queue.end + before;
    if (base + amount - oldest > queue.capacity) {
        s.control[FULL] = s.step;
        return NOWHERE;
    }
    return inside(queue, base);
}

// Reserve room for `amount` entries; one thread calls it.
__device__ __forceinline__ u64 reserve(const Search& s, const Queue& queue, u64 amount, u64 oldest) {
    return amount ? place_of(s, queue, atomicAdd(&s.counters[queue.counter], amount), amount, oldest) : 0;
}

// The same for the whole block.
__device__ __forceinline__ u64 reserve_for_block(const Search& s, const Queue& queue, u64 amount, u64 oldest,
                                                 Shared& shared) {
    if (threadIdx.x == 0) shared.base = reserve(s, queue, amount, oldest);
    __syncthreads();
    return shared.base;
}

struct EdgeWriter {
    static constexpr u32 BATCH = TREE ? 3 : 4;  // more would spill
    static constexpr bool OWNERS = TREE != 0;
    const VERTEX* columns;
    const Queue& edges;
    u64 base;

    __device__ __forceinline__ void operator()(const Gathered<BATCH>& items) const {
        VERTEX end[BATCH];
#pragma unroll
        for (u32 k = 0; k < BATCH; ++k) end[k] = items.live[k] ? __ldg(&columns[items.arc[k]]) : VERTEX(0);
#pragma unroll
        for (u32 k = 0; k < BATCH; ++k) {
            if (!items.live[k]) continue;
            u64 place = wrap(edges, base + items.slot[k]);
            edges.items[place] = end[k];
            if (TREE) edges.parents[place] = items.owner[k];
        }
    }
};

// Append the ends of a tile of few arcs in short rows: they are read while room for them is reserved.
__device__ __forceinline__ void expand_few(const Search& s, i64 begin, i64 length, VERTEX vertex, const Measured& tile,
                                           u64 oldest, Shared& shared) {
    u64 before = 0, taken = 0;
    if (threadIdx.x == 0) before = atomicAdd(&s.counters[EDGES], tile.fine_total);
    i64* arcs = shared.gather.arcs;
    VERTEX* owners = shared.gather.owners;
    list_arcs<TREE != 0>(begin, length, vertex, tile, 0, tile.fine_total, taken, arcs, owners);
    __syncthreads();
    bool live = threadIdx.x < tile.fine_total;
    VERTEX end = live ? __ldg(&s.columns[arcs[threadIdx.x]]) : VERTEX(0);
    VERTEX owner = TREE && live ? owners[threadIdx.x] : VERTEX(0);
    if (threadIdx.x == 0) shared.base = place_of(s, s.edges, before, tile.fine_total, oldest);
    __syncthreads();
    if (!live || shared.base == NOWHERE) return;
    u64 place = wrap(s.edges, shared.base + threadIdx.x);
    s.edges.items[place] = end;
    if (TREE) s.edges.parents[place] = owner;
}

// Append the ends of a tile of rows to the edge queue.
__device__ __forceinline__ void expand_tile(const Search& s, i64 begin, i64 length, VERTEX vertex, u64 oldest,
                                            Shared& shared) {
    Measured tile = measure(s.way, length, shared.gather);
    if (!tile.total()) return;
    if (tile.total() <= blockDim.x && !tile.coarse_total && !s.way.serial) {
        expand_few(s, begin, length, vertex, tile, oldest, shared);
        return;
    }
    u64 base = reserve_for_block(s, s.edges, tile.total(), oldest, shared);
    if (base == NOWHERE) return;
    EdgeWriter writer{s.columns, s.edges, base};
    gather(s.way, begin, length, vertex, tile, shared.gather, writer);
}

// What a thread expands of a tile: a vertex of the queue and its row, none of no arcs.
struct QueuedRow {
    VERTEX vertex;
    i64 begin, length;
};

__device__ __forceinline__ QueuedRow queued_row(const Search& s, u64 base, u64 i, u64 count) {
    bool valid = i < count;
    VERTEX vertex = valid ? s.vertices.items[wrap(s.vertices, base + i)] : VERTEX(0);
    i64 begin = valid ? s.row_offsets[vertex] : 0;
    i64 length = valid ? s.row_offsets[u64(vertex) + 1] - begin : 0;
    if (TREE && valid) mark(s.parts, s.status, vertex);
    return {vertex, begin, length};
}

// Vertex queue [first, end) to edge queue.
__device__ __forceinline__ void expand(Search& s, u64 first, u64 end, Shared& shared) {
    u64 count = end - first, base = inside(s.vertices, first);
    each_tile(s, shared, count, blockDim.x, [&](u64 tile, u64 share, u64 tiles) {
        QueuedRow row = queued_row(s, base, of_tile(s, tile, share, tiles), count);
        expand_tile(s, row.begin, row.length, row.vertex, s.edges.end, shared);
    });
}

// Append the newly visited ones of a thread's vertices to the vertex queue; all threads of the block call it.
template <u32 K>
__device__ __forceinline__ void enqueue(const Search& s, const VERTEX (&vertex)[K], const bool (&newly)[K],
                                        Shared& shared) {
    u32 count = 0;
#pragma unroll
    for (u32 k = 0; k < K; ++k) count += newly[k];
    u64 total;
    u64 place = block_exclusive_sum<u64>(count, shared.gather.sums, total);
    if (!total) return;
    u64 base = reserve_for_block(s, s.vertices, total, s.vertices.end, shared);
    if (base == NOWHERE) return;
    place += base;
#pragma unroll
    for (u32 k = 0; k < K; ++k)
        if (newly[k]) s.vertices.items[wrap(s.vertices, place++)] = vertex[k];
}

// Edge queue [first, end) to vertex queue.
__device__ __forceinline__ void contract(Search& s, u64 first, u64 end, u32 depth, Shared& shared) {
    u64 count = end - first, base = inside(s.edges, first);
    each_tile(s, shared, count, u64(WIDE) * blockDim.x, [&](u64 tile, u64 share, u64) {
        VERTEX vertex[WIDE], parent[WIDE];
        bool newly[WIDE];
#pragma unroll
        for (u32 k = 0; k < WIDE; ++k) {
            u64 within = k * blockDim.x + threadIdx.x, i = tile * share + within;
            newly[k] = within < share && i < count;
            u64 place = wrap(s.edges, base + i);
            vertex[k] = newly[k] ? s.edges.items[place] : VERTEX(0);
            parent[k] = TREE && newly[k] ? s.edges.parents[place] : VERTEX(0);
        }
        look_up<WIDE>(s.parts, s.status, s.culling, vertex, parent, depth, newly);
        enqueue<WIDE>(s, vertex, newly, shared);
    });
}

// Edge queue [first, end) to edge queue. Offsets are read while the claim is under way.
__device__ __forceinline__ void contract_expand(Search& s, u64 first, u64 end, u32 depth, bool deeper, Shared& shared) {
    bool found = false;
    u64 count = end - first, base = inside(s.edges, first);
    // In the smallest levels a claim that fails costs less than what might avoid it.
    u32 parts = count <= DIRECT && s.parts & LOOK_ATOMIC ? u32(LOOK_ATOMIC) : s.parts;
    each_tile(s, shared, count, blockDim.x, [&](u64 tile, u64 share, u64 tiles) {
        u64 i = tiles <= gridDim.x ? of_tile(s, tile, share, tiles) : tile * share + threadIdx.x;
        bool newly[1] = {threadIdx.x < share && i < count};
        u64 place = wrap(s.edges, base + i);
        VERTEX vertex[1] = {newly[0] ? s.edges.items[place] : VERTEX(0)};
        VERTEX parent[1] = {TREE && newly[0] ? s.edges.parents[place] : VERTEX(0)};
        cull<1>(parts, s.status, s.culling, vertex, parent, newly);
        i64 begin = newly[0] ? s.row_offsets[vertex[0]] : 0;
        i64 behind = newly[0] ? s.row_offsets[u64(vertex[0]) + 1] : 0;
        newly[0] = newly[0] && claim(s.parts, s.status, vertex[0], u64(parent[0]), depth);
        found |= newly[0];
        if (deeper) expand_tile(s, begin, newly[0] ? behind - begin : 0, vertex[0], first, shared);
    });
    if (__any_sync(ALL_LANES, found) && lane_id() == 0) s.control[DEEPEST] = depth;
}

// The vertices of a level by their labels, to the vertex queue,
__device__ __forceinline__ void refill_vertices(Search& s, u32 depth, Shared& shared) {
    each_tile(s, shared, s.count, blockDim.x, [&](u64 tile, u64 share, u64) {
        u64 v = tile * share + threadIdx.x;
        VERTEX vertex[1] = {VERTEX(v)};
        bool newly[1] = {threadIdx.x < share && v < s.count && label_depth(s, v) == depth};
        enqueue<1>(s, vertex, newly, shared);
    });
}

// or the ends of their arcs to the edge queue.
__device__ __forceinline__ void refill_edges(Search& s, u32 depth, Shared& shared) {
    each_tile(s, shared, s.count, blockDim.x, [&](u64 tile, u64 share, u64) {
        u64 v = tile * share + threadIdx.x;
        bool valid = threadIdx.x < share && v < s.count && label_depth(s, v) == depth;
        i64 begin = valid ? s.row_offsets[v] : 0;
        expand_tile(s, begin, valid ? s.row_offsets[v + 1] - begin : 0, VERTEX(v), s.edges.end, shared);
    });
}

// After a barrier: whether a queue was full in the last step. If it was, the next is a refill, which stamps
// nothing; if not, a stamp of the next step by a faster block says the same.
__device__ __forceinline__ bool was_full(const Search& s) {
    return !(s.parts & LOOK_ATOMIC) && load_relaxed(&s.control[FULL]) == s.step;
}
