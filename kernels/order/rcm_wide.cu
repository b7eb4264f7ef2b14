// One wide level of Cuthill-McKee's order: the rows of its vertices in ascending address, so that rows which lie in
// the host's memory are read in whole lines of 128 bytes and each line once; then one pass over the vertices gathers
// what was found. The levels between are rcm.cu's, with the same labels and claims.
//
// Contract. row_offsets i64 (vertices + 1), columns VERTEX (arcs) in memory that the device can read, aligned to 128
// bytes for speed; label, claim, place, queue, rank, by_rank VERTEX (vertices); chunk_rows VERTEX, the row of each
// CHUNK'th arc. place[queue[i]] = i for the frontier i in begin..end, and no other place is in that range. A tally is
// zero before a gathering. keys: (parent - begin) << bits | rank of each find, in any order. Block: a multiple of 32,
// 1024 at most.
//
// variants VERTEX: u32 u64

#include "kernels/order/rcm_arcs.cuh"

constexpr i64 CHUNK = 2048;  // arcs that a warp takes at a time
constexpr u32 LINES = 4;     // lines that a warp has under way
constexpr i64 LINE = WARP;   // columns

extern "C" __global__ void chunk_starts(const i64* row_offsets, u64 vertices, VERTEX* chunk_rows) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        i64 end = row_offsets[v + 1];
        for (i64 chunk = (row_offsets[v] + CHUNK - 1) / CHUNK; chunk * CHUNK < end; ++chunk)
            chunk_rows[chunk] = VERTEX(v);
    }
}

// Call visit(neighbour, value) for the arcs of each row r for which live(r, value) holds.
template <class Live, class Visit>
__device__ __forceinline__ void sweep(const i64* row_offsets, const VERTEX* columns, u64 vertices, i64 arcs,
                                      const VERTEX* chunk_rows, Live live, Visit visit) {
    u64 warps = global_threads() / WARP;
    for (i64 chunk = i64(global_thread() / WARP); chunk * CHUNK < arcs; chunk += warps) {
        i64 low = chunk * CHUNK, high = low + CHUNK < arcs ? low + CHUNK : arcs;
        u64 first = chunk_rows[chunk];
        i64 last;
        do {
            u64 row = first + lane_id();
            i64 begin = row < vertices ? row_offsets[row] : arcs, end = row < vertices ? row_offsets[row + 1] : arcs;
            last = __shfl_sync(ALL_LANES, end, WARP - 1);
            // Within the chunk, small enough for 32 bits.
            i32 from = begin <= low ? 0 : begin >= high ? i32(CHUNK) : i32(begin - low);
            i32 to = end <= low ? 0 : end >= high ? i32(high - low) : i32(end - low);
            VERTEX value = 0;
            bool alive = from < to && live(row, value);
            u32 lanes = __ballot_sync(ALL_LANES, alive);
            if (lanes) {
                i32 start = __shfl_sync(ALL_LANES, from, __ffs(lanes) - 1);
                i32 stop = __shfl_sync(ALL_LANES, to, WARP - 1 - __clz(lanes));
                for (i32 line = start & ~i32(LINE - 1); line < stop; line += LINES * LINE) {
                    VERTEX ends[LINES];
                    u32 reading = 0;
#pragma unroll
                    for (u32 q = 0; q < LINES; ++q) {
                        i32 at = line + i32(q * LINE), mine = at + i32(lane_id());
                        if (!__any_sync(ALL_LANES, alive && from < at + LINE && to > at)) continue;
                        reading |= 1u << q;
                        if (mine >= start && mine < stop) ends[q] = columns[low + mine];
                    }
#pragma unroll
                    for (u32 q = 0; q < LINES; ++q) {
                        if (!(reading >> q & 1)) continue;
                        i32 mine = line + i32(q * LINE + lane_id());
                        // The last row of the window that starts at this lane's arc or before it.
                        u32 owner = 0;
#pragma unroll
                        for (u32 step = WARP / 2; step; step /= 2)
                            if (__shfl_sync(ALL_LANES, from, owner + step) <= mine) owner += step;
                        VERTEX its = __shfl_sync(ALL_LANES, value, owner);
                        if (mine >= start && mine < stop && lanes >> owner & 1) visit(ends[q], its);
                    }
                }
            }
            first += WARP;
        } while (last < high);
    }
}

extern "C" __global__ void sweep_labels(const i64* row_offsets, const VERTEX* columns, u64 vertices, i64 arcs,
                                        const VERTEX* chunk_rows, VERTEX* label, u64 base, u64 now) {
    sweep(
        row_offsets, columns, vertices, arcs, chunk_rows, [&](u64 row, VERTEX&) { return label[row] == now; },
        [&](VERTEX other, VERTEX) {
            if (label[other] < base) label[other] = VERTEX(now + 1);
        });
}

extern "C" __global__ void sweep_claims(const i64* row_offsets, const VERTEX* columns, u64 vertices, i64 arcs,
                                        const VERTEX* chunk_rows, const VERTEX* place, VERTEX* claim, u64 begin, u64 end) {
    sweep(
        row_offsets, columns, vertices, arcs, chunk_rows,
        [&](u64 row, VERTEX& value) {
            u64 at = place[row];
            value = VERTEX(at + 1);
            return at >= begin && at < end;
        },
        [&](VERTEX other, VERTEX parent) {
            if (claim[other] > parent) atomicMin(&claim[other], parent);
        });
}

extern "C" __global__ void place_frontier(const VERTEX* queue, u64 begin, u64 end, VERTEX* place) {
    for (u64 i = begin + global_thread(); i < end; i += global_threads()) place[queue[i]] = VERTEX(i);
}

// Call put(vertex, index) for each vertex for which hit(vertex) holds, with an index below tally->found.
template <class Hit, class Put>
__device__ __forceinline__ void gather(u64 vertices, Tally* tally, Hit hit, Put put) {
    __shared__ u32 scratch[WARP + 1];
    __shared__ u64 base;
    for (u64 first = u64(blockIdx.x) * blockDim.x; first < vertices; first += global_threads()) {
        u64 v = first + threadIdx.x;
        bool mine = v < vertices && hit(v);
        u32 total, at = block_exclusive_sum(u32(mine), scratch, total);
        if (threadIdx.x == 0 && total) base = atomicAdd(&tally->found, u64(total));
        __syncthreads();
        if (mine) put(v, base + at);
        __syncthreads();
    }
}

extern "C" __global__ void gather_labels(const i64* row_offsets, const VERTEX* label, u64 vertices, u64 wanted,
                                         VERTEX* queue, u64 end, Tally* tally) {
    Rows rows;
    gather(
        vertices, tally, [&](u64 v) { return label[v] == wanted; },
        [&](u64 v, u64 at) {
            rows.add(row_offsets, v);
            queue[end + at] = VERTEX(v);
        });
    add_rows(tally, rows);
}

extern "C" __global__ void gather_claims(const VERTEX* claim, const VERTEX* rank, u64 vertices, u64 begin, u32 bits,
                                         u64* keys, Tally* tally) {
    gather(
        vertices, tally, [&](u64 v) { return claim[v] != NONE && claim[v] > begin; },
        [&](u64 v, u64 at) { keys[at] = u64(claim[v] - 1 - begin) << bits | rank[v]; });
}

// The finds in the order of their keys.
extern "C" __global__ void write_level(const i64* row_offsets, const u64* keys, u64 count, u32 bits,
                                       const VERTEX* by_rank, VERTEX* queue, u64 end, Tally* tally) {
    u64 mask = (1ull << bits) - 1;
    Rows rows;
    for (u64 i = global_thread(); i < count; i += global_threads()) {
        VERTEX vertex = by_rank[keys[i] & mask];
        rows.add(row_offsets, vertex);
        queue[end + i] = vertex;
    }
    add_rows(tally, rows);
}
