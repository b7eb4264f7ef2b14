// Afforest over rows in any layout, in device memory or in pinned host memory: what
// kernels/components/cuda/afforest_tiles.cu does, with rows that are decoded where they are read.
//
// `read_heads` decodes the first `planes` neighbours of every vertex, once for any number of searches. Tiles and
// neighbour rounds look at those alone, in device memory. Then rows are read that lie outside the largest
// component, in ascending order, a lane per row where they are short, else a warp per unit.
//
// Where rows are far away, the device has more of them (kept.cuh): then all heads are joined in the rounds, and of
// the rows outside the largest component only those are read that have neighbours which the device does not know.
//
// Contract: ROWS_PARAMETERS as kernels/layouts/rows.cuh says; heads VERTEX (planes, vertices), NO_VERTEX where a
// row has fewer; KEPT_PARAMETERS as kept.cuh says, `longer` zero before read_heads, and null there if nobody asks;
// hubs VERTEX (room); component, linked, roots, counters and the grid as in afforest_tiles.cu.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh
// variants VERTEX: u32 u64
// variants BLOCK: 512

#include "kernels/layouts/cursor.cuh"
#include "kernels/components/cuda/kept.cuh"

constexpr u64 UNITS = 8;  // units from which a row is split over the grid, if there is room to note it

extern "C" __global__ void read_heads(ROWS_PARAMETERS, u64 vertices, u64 planes, VERTEX* heads, u32* longer) {
    const Rows rows = make_rows(ROWS_ARGUMENTS);
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        Cursor cursor = open_row(rows, v);
        bool more = true;
        for (u64 k = 0; k < planes; ++k) {
            VERTEX neighbour = NO_VERTEX;
            more = more && next_neighbour(rows, cursor, neighbour);
            heads[k * vertices + v] = more ? neighbour : NO_VERTEX;
        }
        VERTEX another;
        if (longer && more && next_neighbour(rows, cursor, another)) atomicOr(&longer[v / 32], 1u << v % 32);
    }
}

// The first neighbours as tile.cuh wants them.
struct Heads {
    const VERTEX* heads;
    u64 vertices, planes;
    bool symmetric;

    __device__ __forceinline__ void open(u64 base, Near (&near)[EACH], u32* linked) const {
#pragma unroll
        for (u32 j = 0; j < EACH; ++j) {
            u64 v = base + j * BLOCK + threadIdx.x;
#pragma unroll
            for (u32 k = 0; k < ROUNDS; ++k) {
                VERTEX head = v < vertices && k < planes ? heads[k * vertices + v] : NO_VERTEX;
                near[j].neighbour[k] = head != NO_VERTEX ? head : VERTEX(v);
                if (k) continue;
                u32 word = __ballot_sync(ALL_LANES, head != NO_VERTEX);
                if (lane_id() == 0 && v < vertices) linked[v / WARP] = word;
            }
        }
        // A larger first neighbour has, where arcs go both ways, a first neighbour no larger than v.
#pragma unroll
        for (u32 j = 0; j < EACH; ++j) {
            VERTEX v = VERTEX(base + j * BLOCK + threadIdx.x), first = near[j].neighbour[0];
            near[j].second = symmetric && first > v ? heads[first] : v;
        }
    }
};

// Join one unit of a row, 32 neighbours at a time; returns whether the rest of the row matters.
__device__ __forceinline__ bool join_unit(Forest& forest, const Rows& rows, VERTEX row, u64 unit) {
    VERTEX root = parent_of(forest.component, row);
    return visit_unit(rows, row, unit, [&](VERTEX u, bool valid) {
        bool done = valid && forest.once && u >= row;
        if (valid && !done) {
            root = join_arc(forest, parent_of(forest.component, root), u);
            done = in_giant(forest, root);
        }
        return !__any_sync(ALL_LANES, done);
    });
}

// A place behind the neighbours of a row that the device knows, where its layout can go there at once.
__device__ __forceinline__ Cursor open_rest(const Rows& rows, const Kept& kept, u64 v) {
    Cursor cursor = open_row(rows, v);
    skip_neighbours(cursor, kept.most);
    return cursor;
}

// The first unit that has neighbours which the device does not know.
__device__ __forceinline__ u64 first_unit(const Kept& kept) {
    return RANDOM_ACCESS ? kept.most / MAX_IN_UNIT : 0;
}

// Join the rows of one vertex per lane.
__device__ __forceinline__ void join_rows(Forest& forest, const Rows& rows, const Kept& kept, VERTEX* hubs, u64 room,
                                          VERTEX v, bool live) {
    VERTEX root = live ? parent_of(forest.component, v) : VERTEX(0);
    live = live && !in_giant(forest, root);
    if (kept.columns) live = join_kept(forest, kept, v, root, live);
    if (kept.longer) live = live && kept.longer[v / 32] >> v % 32 & 1;
    u64 weight = live ? row_weight(rows, v) : 0;
    if (weight && weight <= LIGHT_WEIGHT) {
        Cursor cursor = open_rest(rows, kept, v);
        VERTEX u;
        while (next_neighbour(rows, cursor, u) && !(forest.once && u >= v)) {
            root = join_arc(forest, parent_of(forest.component, root), u);
            if (in_giant(forest, root)) break;
        }
    }
    __syncwarp();
    u32 left = __ballot_sync(ALL_LANES, weight > LIGHT_WEIGHT);
    while (left) {
        u32 from = __ffs(left) - 1;
        left &= left - 1;
        VERTEX row = __shfl_sync(ALL_LANES, v, from);
        u64 units = row_units(rows, row), first = first_unit(kept);
        for (u64 unit = first; unit < units; ++unit) {
            if (!join_unit(forest, rows, row, unit)) break;
            if (unit > first || units - first < UNITS) continue;
            u64 place = lane_id() == 0 ? atomicAdd(&forest.counters[HUBS], 1ull) : 0;
            place = __shfl_sync(ALL_LANES, place, 0);
            if (place < room) {
                hubs[place] = row;
                break;
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK, 1024 / BLOCK)
    afforest_rows(ROWS_PARAMETERS, u64 vertices, u64 symmetric, const VERTEX* heads, u64 planes, KEPT_PARAMETERS,
                  u64 giant, VERTEX* component, u32* linked, VERTEX* roots, VERTEX* hubs, u64 room, u64* counters, u64* trace) {
    __shared__ Scratch scratch;
    u64* arrivals = &counters[ARRIVALS];
    const Rows rows = make_rows(ROWS_ARGUMENTS);
    const Heads near{heads, vertices, planes, symmetric != 0};
    const Kept kept = KEPT;
    Forest forest{vertices, component, counters, NO_VERTEX, false, false};
    VERTEX* queue = scratch.queue[warp_id()];
    auto join_them = [&](VERTEX v, bool live) { join_rows(forest, rows, kept, hubs, room, v, live); };
    u32 step = 0;
    hook_all(forest, scratch.tile, near, linked, roots, trace, step);

    // Neighbour rounds: the heads of every vertex are in device memory, its row may be far away. A tile hooks no more
    // than one neighbour outside of each tree, and the first one may be another: it matters where no row is read.
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        VERTEX top = seen_above(component, VERTEX(v));
        for (u64 k = kept.longer ? 0 : 1; k < planes && heads[k * vertices + v] != NO_VERTEX; ++k) {
            VERTEX other = seen_above(component, heads[k * vertices + v]);
            if (other != top) top = join_in(forest, root_in(forest, top), other);
        }
    }
    mark(trace, step);
    grid_barrier(arrivals);
    mark(trace, step);

    forest.giant = choose_giant(forest, linked, symmetric ? giant : u64(NONE), scratch.giant);
    forest.once = symmetric && forest.giant == NO_VERTEX;
    sweep_first(forest, linked, queue, join_them, trace, step);

    u64 noted = load_relaxed(&counters[HUBS]), split = noted < room ? noted : room;
    for (u64 i = 0; i < split; ++i) {
        u64 units = row_units(rows, hubs[i]);
        for (u64 unit = first_unit(kept) + 1 + global_thread() / WARP; unit < units; unit += global_threads() / WARP)
            if (!join_unit(forest, rows, hubs[i], unit)) break;
    }
    sweep_again(forest, linked, queue, join_them, split, trace, step);
}
