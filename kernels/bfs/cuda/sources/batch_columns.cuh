// Rows of a batch that are columns; see batch.cuh for what a source says.
//
// An entry is a stretch of columns, as in columns.cuh, and does not name its vertex.

#include "kernels/bfs/cuda/batch_claim.cuh"

constexpr u32 MAX_BLOCK = 512, FEWEST_BLOCKS = 2;

constexpr i64 ALONE = 128;   // arcs that a lane tries bottom-up before its warp helps,
constexpr i64 LONG = 256;    // and those left of a row from which the whole grid does,
constexpr u32 PIECE = 1024;  // in entries of so many arcs

// A place is that of an arc.
__device__ __forceinline__ u64 entry_of(VERTEX, i64 begin, i64 left, u32 piece) {
    return u64(begin) << LENGTH_BITS | u64((left < piece ? left : piece) - 1);
}

__device__ __forceinline__ void put_entries(const Batch& b, Counts& counts, VERTEX vertex, u64 bits) {
    i64 begin = bits ? b.rows.row_offsets[vertex] : 0, end = bits ? b.rows.row_offsets[u64(vertex) + 1] : 0;
    counts.vertices += bits != 0;
    counts.weight += u64(end - begin);
    counts.live |= bits;
    cut(b, vertex, bits, begin, end, CHUNK);
}

__device__ __forceinline__ VERTEX owner_of(const Batch& b, u64 place, u64) { return b.owners[place]; }

// Entries of 32 arcs and more go to the warp one by one; the arcs of shorter ones are spread over lanes by a scan.
__device__ __forceinline__ void expand_entries(const Batch& b, Stage& stage, bool valid, u64 word, u64 bits, VERTEX owner) {
    u32 length = valid ? u32(word & ((1u << LENGTH_BITS) - 1)) + 1 : 0;
    i64 begin = i64(word >> LENGTH_BITS);

    u32 whole = __ballot_sync(ALL_LANES, length >= WARP);
    while (whole) {
        u32 from = take_lowest(whole);
        i64 start = __shfl_sync(ALL_LANES, begin, from);
        u32 arcs = __shfl_sync(ALL_LANES, length, from);
        u64 its = __shfl_sync(ALL_LANES, bits, from);
        VERTEX tail = __shfl_sync(ALL_LANES, owner, from);
        for (u32 k = lane_id(); k - lane_id() < arcs; k += WARP) {
            VERTEX head = k < arcs ? b.rows.columns[start + k] : VERTEX(0);
            stage.put(k < arcs && offer(b, head, its, tail), head);
        }
    }

    u32 few = length < WARP ? length : 0;
    u32 upto = warp_inclusive_sum(few);
    u32 total = __shfl_sync(ALL_LANES, upto, WARP - 1);
    for (u32 base = 0; base < total; base += WARP) {
        u32 arc = base + lane_id(), from = 0;
#pragma unroll
        for (u32 step = WARP / 2; step; step /= 2)
            if (arc >= __shfl_sync(ALL_LANES, upto, from + step - 1)) from += step;
        u32 within = arc - __shfl_sync(ALL_LANES, upto - few, from);
        i64 start = __shfl_sync(ALL_LANES, begin, from);
        u64 its = __shfl_sync(ALL_LANES, bits, from);
        VERTEX tail = __shfl_sync(ALL_LANES, owner, from);
        VERTEX head = arc < total ? b.rows.columns[start + within] : VERTEX(0);
        stage.put(arc < total && offer(b, head, its, tail), head);
    }
}

// Try the first neighbours of each lane's own row.
__device__ __forceinline__ u64 scan_alone(const Batch& b, u64 v, u64 wanted, u64& gained, i64& at, i64& end) {
    at = wanted ? b.rows.row_offsets[v] : 0, end = wanted ? b.rows.row_offsets[v + 1] : 0;
    i64 degree = end - at, stop = degree < ALONE ? end : at + ALONE;
    while (at < stop && wanted & ~gained) {
        VERTEX neighbour[4];
        u64 its[4];
#pragma unroll
        for (u32 k = 0; k < 4; ++k) neighbour[k] = b.rows.columns[at + k < end ? at + k : end - 1];
#pragma unroll
        for (u32 k = 0; k < 4; ++k) its[k] = b.seen[neighbour[k]];
#pragma unroll
        for (u32 k = 0; k < 4; ++k) gain(b, v, its[k], wanted, gained, neighbour[k]);
        at += 4;
    }
    return u64(degree);
}

// The bits among `open` that columns `begin` to `end` have; all lanes call it.
template <class Tell>
__device__ __forceinline__ u64 scan_row(const Batch& b, u64, i64 begin, i64 end, u64 open, const Tell& tell) {
    u64 taken = 0;
    for (i64 i = begin; i < end && open; i += 2 * WARP) {
        VERTEX neighbour[2];
        u64 its[2];
#pragma unroll
        for (u32 k = 0; k < 2; ++k) {
            i64 place = i + k * WARP + lane_id();
            neighbour[k] = b.rows.columns[place < end ? place : end - 1];
        }
#pragma unroll
        for (u32 k = 0; k < 2; ++k) its[k] = b.seen[neighbour[k]];
#pragma unroll
        for (u32 k = 0; k < 2; ++k) claim_open(its[k], neighbour[k], open, taken, tell);
    }
    return taken;
}

template <class Tell>
__device__ __forceinline__ u64 scan_entry(const Batch& b, u64 word, u64 open, const Tell& tell) {
    i64 begin = i64(word >> LENGTH_BITS);
    return scan_row(b, 0, begin, begin + i64(word & ((1u << LENGTH_BITS) - 1)) + 1, open, tell);
}
