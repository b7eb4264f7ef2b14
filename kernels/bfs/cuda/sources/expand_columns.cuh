// Top-down over plain columns: how entries of the queue are expanded.
//
// Entries are binned by length: up to 31 arcs are spread over lanes by a warp scan, longer ones go to a warp.

#include "kernels/bfs/cuda/sources/columns.cuh"
#include "kernels/bfs/cuda/claim.cuh"

// Columns are claimed from where they lie; see expand_encoded.cuh.
struct Decoded {
    __device__ __forceinline__ explicit Decoded(u64*) {}
};

__device__ __forceinline__ u64* behind_decoded(u64* arena) { return arena; }

// Entries that a warp takes at least of a small frontier, so that rows of few arcs keep its lanes busy.
__device__ __forceinline__ u32 fewest_entries(u64 weight, u64 entries) {
    return weight < 4 * entries ? 8 : weight < 16 * entries ? 4 : 1;
}

// Put the entries of the source into the queue, by one warp; gives how many, and their weight.
__device__ __forceinline__ u64 queue_source(const Search& s, u64 source, u64& weight) {
    Row row = listed_row(s.rows, VERTEX(source));
    u32 units = row.units();
    cut_rows(lane_id() ? 0 : units, units, units, row, [&](u32 k, const Entry& entry) { s.queue.write(k, entry); });
    weight = row.weight();
    return units;
}

// Expand one entry per lane (length 0 for none); all lanes call it.
template <class Sink>
__device__ __forceinline__ void expand(const Search& s, Sink& sink, Decoded&, bool valid, const Entry& entry,
                                       u32 depth) {
    u32 length = valid ? u32(entry.word & ((1u << LENGTH_BITS) - 1)) + 1 : 0;
    VERTEX owner = entry.owner;
    i64 begin = i64(entry.word >> LENGTH_BITS);
    if (TREE && !Sink::DIRECT && !Sink::COUNTS_ONLY && valid) set_bit(s.other, owner);

    u32 whole = __ballot_sync(ALL_LANES, length >= WARP);
    while (whole) {
        u32 from = __ffs(whole) - 1;
        whole &= whole - 1;
        i64 row = __shfl_sync(ALL_LANES, begin, from);
        u32 arcs = __shfl_sync(ALL_LANES, length, from);
        VERTEX tail = TREE ? __shfl_sync(ALL_LANES, owner, from) : VERTEX(0);
        constexpr u32 K = Sink::COUNTS_ONLY ? 4 : 2;
        for (u32 i = lane_id(); i - lane_id() < arcs; i += K * WARP) {
            VERTEX vertex[K], tails[K];
            bool live[K];
#pragma unroll
            for (u32 k = 0; k < K; ++k) {
                live[k] = i + k * WARP < arcs;
                vertex[k] = live[k] ? __ldg(&s.rows.columns[row + i + k * WARP]) : VERTEX(0);
                tails[k] = tail;
            }
            claim<K, Sink::COUNTS_ONLY>(s, sink, vertex, live, tails, depth);
        }
    }

    u32 few = length < WARP ? length : 0;
    u32 upto = warp_inclusive_sum(few);
    u32 total = __shfl_sync(ALL_LANES, upto, WARP - 1);
    constexpr u32 K = Sink::DIRECT ? 1 : 2;
    for (u32 first = 0; first < total; first += K * WARP) {
        VERTEX vertex[K], tails[K];
        bool live[K];
#pragma unroll
        for (u32 k = 0; k < K; ++k) {
            u32 arc = first + k * WARP + lane_id();
            live[k] = arc < total;
            u32 from = 0;
#pragma unroll
            for (u32 step = WARP / 2; step; step /= 2)
                if (arc >= __shfl_sync(ALL_LANES, upto, from + step - 1)) from += step;
            u32 within = arc - __shfl_sync(ALL_LANES, upto - few, from);
            i64 row = __shfl_sync(ALL_LANES, begin, from);
            tails[k] = TREE ? __shfl_sync(ALL_LANES, owner, from) : VERTEX(0);
            vertex[k] = live[k] ? __ldg(&s.rows.columns[row + within]) : VERTEX(0);
        }
        claim<K, Sink::COUNTS_ONLY>(s, sink, vertex, live, tails, depth);
    }
}
