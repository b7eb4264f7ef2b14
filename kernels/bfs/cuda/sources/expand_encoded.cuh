// Top-down over encoded rows: how entries of the queue are expanded. See decoded.cuh for how they are decoded.

#include "kernels/bfs/cuda/sources/decoded.cuh"
#include "kernels/bfs/cuda/claim.cuh"

#ifndef DECODE_ENTRIES
#define DECODE_ENTRIES decode_entries  // whoever includes this file may name another
#endif

constexpr u32 TOGETHER = 2;  // decoded neighbours of a lane that are claimed at once

// Entries that a warp takes at least of a small frontier.
__device__ __forceinline__ u32 fewest_entries(u64, u64) { return 1; }

// Put the entries of the source into the queue, by one warp; gives how many, and their weight.
__device__ __forceinline__ u64 queue_source(const Search& s, u64 source, u64& weight) {
    weight = row_weight(s.rows, source);
    u64 units = entries_of(s.rows, VERTEX(source), weight);
    Row row{weight, 0, VERTEX(source)};
    if (units == 1 && lane_id() == 0) s.queue.write(0, whole_entry(row));
    for (u64 unit = lane_id(); units > 1 && unit < units; unit += WARP) s.queue.write(unit, part_entry(row, unit));
    return units;
}

using Decoded = DecodedList<TREE != 0>;

// Claim what is listed; `owner` is this lane's.
template <u32 K, bool COUNTS_ONLY, class Sink>
__device__ __forceinline__ void claim_listed(const Search& s, Sink& sink, Decoded& decoded, VERTEX owner, u32 depth) {
    u32 listed = decoded.take();
    __syncwarp();
#pragma unroll 1
    for (u32 first = 0; first < listed; first += K * WARP) {
        VERTEX vertex[K], owners[K];
        bool live[K];
#pragma unroll
        for (u32 k = 0; k < K; ++k) {
            u32 place = first + k * WARP + lane_id();
            live[k] = place < listed;
            vertex[k] = live[k] ? decoded.vertices[place] : VERTEX(0);
            owners[k] = TREE ? __shfl_sync(ALL_LANES, owner, live[k] ? decoded.from[place] : 0) : VERTEX(0);
        }
        claim<K, COUNTS_ONLY>(s, sink, vertex, live, owners, depth);
    }
    __syncwarp();
}

template <class Sink>
__device__ __forceinline__ void claim_all(const Search& s, Sink& sink, Decoded& decoded, VERTEX owner, u32 depth) {
    if (sink.counts_only)
        claim_listed<2 * TOGETHER, true>(s, sink, decoded, owner, depth);
    else
        claim_listed<TOGETHER, false>(s, sink, decoded, owner, depth);
}

// Shared memory behind the lists of a block; cuda/kernel_rows.py reserves as much.
__device__ __forceinline__ u64* behind_decoded(u64* arena) {
    return arena + blockDim.x / WARP * LISTED * (sizeof(VERTEX) + 1) / sizeof(u64);
}

// Expand one entry per lane; all lanes call it.
template <class Sink>
__device__ __forceinline__ void expand(const Search& s, Sink& sink, Decoded& decoded, bool valid, const Entry& entry,
                                       u32 depth) {
    VERTEX owner = VERTEX(entry.word >> UNIT_BITS);
    u64 unit = entry.word & WHOLE_ROW;
    if (TREE && !Sink::DIRECT && !sink.counts_only && valid) set_bit(s.other, owner);
    DECODE_ENTRIES(s.rows, decoded, valid, owner, unit, [&] { claim_all(s, sink, decoded, owner, depth); });
}
