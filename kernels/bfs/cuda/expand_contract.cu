// Expand-contract BFS (Merrill, Garland, Grimshaw, PPoPP 2012, section 5.1): the queue holds the vertex
// frontier. Per level one step gathers its neighbours, filters them as they come, and writes those that are new
// into the next vertex queue; arcs go through no queue. One cooperative launch, with the level loop on the device.
//
// Departure from the paper: a warp keeps what it has found until a stage of shared memory is full, and then
// reserves room in the queue for all of it. The paper has one prefix sum over the block for each kind of gather.
//
// Contract. row_offsets i64 (vertices + 1), columns VERTEX. vertex_queue VERTEX, with room for `vertex_room`
// entries (vertices suffice; see frontier_queues.cuh); bitmask u32 (vertices / 32, rounded up), control u64
// (CONTROL_WORDS). `gather` is a GatherName, `parts` are LookUp parts, `steals` is 0 or 1, `least` the items that a
// tile has at least. Dynamic shared memory as in parts.py, with STAGE vertices for each warp. Block: a multiple of
// 32, at most 512. Grid: no more blocks than run at the same time.
//
// variants VERTEX: u32 u64
// variants TREE: 0 32 33
// variants RUNS: 0 1

#include "kernels/bfs/cuda/frontier_queues.cuh"

constexpr u32 STAGE = 128;  // vertices that a warp keeps, as in cuda/frontier_queues.py

extern __shared__ u64 arena[];

struct Finder {
    static constexpr u32 BATCH = 2;
    static constexpr bool OWNERS = TREE != 0;
    const Search& s;
    VERTEX* stage;
    u32 depth;
    Shared& shared;
    bool few = false;  // arcs in this tile
    u32 held = 0;

    // Write what is held from `base` on; all lanes call it.
    __device__ __forceinline__ void write(u64 base) {
        __syncwarp();
        if (base != NOWHERE)
            for (u32 i = lane_id(); i < held; i += WARP) s.vertices.items[wrap(s.vertices, base + i)] = stage[i];
        __syncwarp();
        held = 0;
    }

    __device__ __forceinline__ void operator()(const Gathered<BATCH>& items) {
        VERTEX vertex[BATCH];
        bool newly[BATCH];
#pragma unroll
        for (u32 k = 0; k < BATCH; ++k) {
            newly[k] = items.live[k];
            vertex[k] = newly[k] ? __ldg(&s.columns[items.arc[k]]) : VERTEX(0);
        }
        look_up<BATCH>(few ? u32(LOOK_ATOMIC) : s.parts, s.status, s.culling, vertex, items.owner, depth, newly);
#pragma unroll
        for (u32 k = 0; k < BATCH; ++k) {
            u32 lanes = __ballot_sync(ALL_LANES, newly[k]);
            if (newly[k]) stage[held + __popc(lanes & lanes_below())] = vertex[k];
            held += __popc(lanes);
        }
        if (held > STAGE - BATCH * WARP) {
            u64 base = 0;
            if (lane_id() == 0) base = reserve(s, s.vertices, held, shared.oldest);
            write(__shfl_sync(ALL_LANES, base, 0));
        }
    }
};

// Vertex queue [first, end) to vertex queue. Counts the arcs of the block's tiles.
__device__ __forceinline__ void expand_contract(Search& s, u64 first, u64 end, u32 depth, VERTEX* stages, Shared& shared) {
    u64 count = end - first, base = inside(s.vertices, first);
    Finder finder{s, stages + warp_id() * STAGE, depth, shared};
    if (threadIdx.x == 0) {
        shared.oldest = first;  // read behind the barriers of `measure`
        shared.gathered = 0;
    }
    each_tile(s, shared, count, blockDim.x, [&](u64 tile, u64 share, u64 tiles) {
        QueuedRow row = queued_row(s, base, of_tile(s, tile, share, tiles), count);
        Measured measured = measure(s.way, row.length, shared.gather);
        if (threadIdx.x == 0) shared.gathered += measured.total();
        // Where a tile has few arcs, a claim that fails costs less than what might avoid it.
        finder.few = measured.total() <= blockDim.x && s.parts & LOOK_ATOMIC;
        gather(s.way, row.begin, row.length, row.vertex, measured, shared.gather, finder);
    });

    // One reservation for what the block's warps still hold.
    if (threadIdx.x == 0) shared.gather.slot = 0;
    __syncthreads();
    u64 behind = 0;
    if (lane_id() == 0 && finder.held) behind = atomicAdd(&shared.gather.slot, u64(finder.held));
    __syncthreads();
    u64 place = reserve_for_block(s, s.vertices, shared.gather.slot, first, shared);
    finder.write(place == NOWHERE ? NOWHERE : wrap(s.vertices, place + __shfl_sync(ALL_LANES, behind, 0)));
}

// The bounds leave 40 registers to a thread: 1,536 run on a multiprocessor.
extern "C" __global__ void __launch_bounds__(MAX_THREADS, SLIM ? 3 : 1)
    search(const i64* row_offsets, const VERTEX* columns, i32* distance, u64* keys, i64* predecessor,
           VERTEX* vertex_queue, u32* bitmask, u64* control, u64 vertex_room, u64 gather, u64 parts, u64 steals, u64 least,
           u64* log, u64* arrivals, u64 vertices, u64 max_depth, u64 logged, u64 source) {
    __shared__ Shared shared;
    Search s = make_search(row_offsets, columns, {bitmask, distance, keys}, vertex_queue, vertex_room, control, gather,
                           parts, steals, least, vertices);
    VERTEX* stages = share_out(s, shared, arena, STAGE);
    begin_labels(s, source);
    if (logged)
        for (u64 i = global_thread(); i <= logged; i += global_threads()) log[i] = 0;
    if (global_thread() == 0) vertex_queue[0] = VERTEX(source);
    grid_barrier(arrivals);

    u64 first = 0;
    s.vertices.end = 1;
    u32 level = 0;
    while (first < s.vertices.end && level < max_depth) {
        u64 last = s.vertices.end;
        expand_contract(s, first, last, level + 1, stages, shared);
        if (logged && threadIdx.x == 0 && shared.gathered)
            atomicAdd(&log[1 + (level < logged ? level : logged - 1)], shared.gathered);
        ++level;
        grid_barrier(arrivals);
        first = last;
        s.vertices.end = end_of(s, s.vertices);
        if (was_full(s)) {
            first = s.vertices.end;
            refill_vertices(s, level, shared);
            grid_barrier(arrivals);
            s.vertices.end = end_of(s, s.vertices);
        }
    }
    if (global_thread() == 0) log[0] = level;
    write_wide(keys, distance, predecessor, vertices);
}
