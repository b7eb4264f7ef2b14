// What a graph looks like, measured at little cost: how its arcs are spread over its vertices, and how fast a
// search from its vertex of most arcs grows. A choice of strategy rests on it, never a result.
//
// `spread`: for each power of two, the vertices whose degree has that many bits and their arcs; and the
// vertex of most arcs, as degree << 33 | vertex (degrees from 2^31 on count as 2^31 - 1).
// `probe`: a top-down search that stops early. Of a row, the source's apart, about ROW arcs are read at most, since
// a warp reads each.
//
// Contract. row_offsets i64 (vertices + 1): neighbours of each row, summed up; rows in any layout. spread: histogram u64 (2, BINS), zeroed; hub u64
// (1), zeroed. probe: visited u32 (vertices / 32, rounded up), zeroed; queue VERTEX (min(vertices, most_arcs +
// 1)); tails u64 (2), zeroed; log u64 (2 + 2 * most_levels). Block: a multiple of 32.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh
// variants VERTEX: u32 u64

#include "kernels/cuda/grid_barrier.cuh"
#include "kernels/layouts/rows.cuh"

constexpr u32 BINS = 64;
constexpr u32 HUB_SHIFT = 33;
constexpr u64 ROW = 4096;
constexpr u64 MAX_UNITS = ROW / MAX_IN_UNIT + 1;

extern "C" __global__ void spread(const i64* row_offsets, u64 vertices, u64* histogram, u64* hub) {
    __shared__ u64 counts[2 * BINS];
    for (u32 i = threadIdx.x; i < 2 * BINS; i += blockDim.x) counts[i] = 0;
    __syncthreads();
    u64 most = 0;
    for (u64 first = global_thread() - lane_id(); first < vertices; first += global_threads()) {
        u64 v = first + lane_id();
        u64 degree = v < vertices ? u64(row_offsets[v + 1] - row_offsets[v]) : 0;
        u32 bits = v < vertices ? 64 - __clzll(i64(degree)) : BINS;
        u64 capped = degree < (1ull << 31) ? degree : (1ull << 31) - 1;
        u64 here = v < vertices ? capped << HUB_SHIFT | v : 0;
        most = here > most ? here : most;
        // Most degrees of a warp share a few bins, and lanes that add to one cell wait for each other.
        u32 left = __ballot_sync(ALL_LANES, bits < BINS);
        while (left) {
            u32 bin = __shfl_sync(ALL_LANES, bits, __ffs(left) - 1);
            u32 same = __ballot_sync(ALL_LANES, bits == bin);
            u64 arcs = warp_sum(bits == bin ? degree : 0ull);
            if (lane_id() == 0) {
                atomicAdd(&counts[bin], u64(__popc(same)));
                atomicAdd(&counts[BINS + bin], arcs);
            }
            left &= ~same;
        }
    }
    for (u32 step = WARP / 2; step; step /= 2) {
        u64 theirs = __shfl_xor_sync(ALL_LANES, most, step);
        most = theirs > most ? theirs : most;
    }
    if (lane_id() == 0) atomicMax(hub, most);
    __syncthreads();
    for (u32 i = threadIdx.x; i < 2 * BINS; i += blockDim.x)
        if (counts[i]) atomicAdd(&histogram[i], counts[i]);
}

// Log: levels searched, whether nothing is left; then for each level its vertices and their arcs.
extern "C" __global__ void probe(const i64* row_offsets, ROWS_PARAMETERS, u32* visited, VERTEX* queue, u64* tails,
                                 u64* log, u64* arrivals, u64 source, u64 most_levels, u64 most_arcs) {
    Rows rows = make_rows(ROWS_ARGUMENTS);
    u64 first_arcs = u64(row_offsets[source + 1] - row_offsets[source]);
    if (global_thread() == 0) {
        visited[source >> 5] = 1u << (source & 31);
        log[2] = 1;
        log[3] = first_arcs;
    }
    grid_barrier(arrivals);
    u64 begin = 0, end = 0, arcs = first_arcs, read = arcs;
    u32 level = 0;
    while (read <= most_arcs && level < most_levels && arcs) {
        u64 new_arcs = 0;
        auto enqueue = [&](VERTEX vertex, bool valid) {
            bool fresh = false;
            if (valid) {
                u32 bit = 1u << (vertex & 31);
                fresh = !(visited[vertex >> 5] & bit) && !(atomicOr(&visited[vertex >> 5], bit) & bit);
            }
            u32 lanes = __ballot_sync(ALL_LANES, fresh);
            u64 place = 0;
            if (lanes && lane_id() == 0) place = atomicAdd(&tails[0], u64(__popc(lanes)));
            place = __shfl_sync(ALL_LANES, place, 0) + __popc(lanes & lanes_below());
            if (fresh) {
                queue[place] = vertex;
                new_arcs += u64(row_offsets[u64(vertex) + 1] - row_offsets[vertex]);
            }
            return true;
        };
        u64 warps = global_threads() / WARP, warp = global_thread() / WARP;
        // All warps share the source's row, as if it were the rows of a level.
        u64 items = level ? end - begin : row_units(rows, source);
        for (u64 i = warp; i < items; i += warps) {
            u64 vertex = level ? u64(queue[begin + i]) : source, unit = level ? 0 : i;
            u64 units = level ? row_units(rows, vertex) : i + 1;
            if (level && units > MAX_UNITS) units = MAX_UNITS;
            for (; unit < units; ++unit) visit_unit(rows, vertex, unit, enqueue);
        }
        new_arcs = warp_sum(new_arcs);
        if (lane_id() == 0 && new_arcs) atomicAdd(&tails[1], new_arcs);
        grid_barrier(arrivals);
        u64 all_arcs = load_relaxed(&tails[1]), all = load_relaxed(&tails[0]);
        // Nobody adds to the tails until everybody has read them.
        grid_barrier(arrivals);
        ++level;
        begin = end;
        end = all;
        arcs = all_arcs + first_arcs - read;
        read += arcs;
        if (global_thread() == 0 && level < most_levels) {
            log[2 + 2 * level] = end - begin;
            log[3 + 2 * level] = arcs;
        }
    }
    if (global_thread() == 0) {
        log[0] = level;
        log[1] = arcs == 0;
    }
}
