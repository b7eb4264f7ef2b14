// The edge distributor over a range of rows: which arcs go to which subgraphs of which ranks, in their order.
//
// A stable split into buckets. Bucket kind * span + rank - low has the arcs of a kind (nn, nd, dn, dd) that the
// ranks low to low + span - 1 get; of stripes, which have no delegates, there are buckets of kind nn alone.
// Contract: `offsets` i64 (rows + 1) may begin anywhere, `columns` are of the range alone. Delegates as in
// lookup.cuh, `degrees` i64 are theirs; words = 0 where there are none. A block of 32 to 256 threads takes tiles
// of blockDim.x * ROUNDS arcs, a warp a part of each; grids stride. Call count_arcs, sum up `histogram`
// (buckets * tiles, after a 0), call fill_arcs.
// Paper: Pan, Pearce, Owens, IPDPS 2018, section III-B, algorithm 1.
//
// variants VERTEX: u32 u64
#include "kernels/partition/lookup.cuh"

enum Kind { NN, ND, DN, DD };

constexpr u32 ROUNDS = 8;
constexpr u32 MAX_WARPS = 8;
constexpr u32 MAX_BUCKETS = 256;  // of 64 ranks with four kinds each

struct Rows {
    const u64* offsets;
    const VERTEX* columns;
    u64 first, count;  // of the graph's rows
};

struct Ranks {
    u32 all, low, span;
};

struct Delegates {
    const u64* words;
    const u32* before;
    const u64* degrees;

    __device__ __forceinline__ u32 position(u64 vertex) const {
        return words ? position_of(vertex, words, before) : NOTHING;
    }
};

// Where an arc goes: its bucket or NOTHING, and its row and column there.
struct Place {
    u32 bucket;
    u64 row, column;
};

__device__ __forceinline__ Place place_of(const Rows& rows, u64 row, VERTEX w, const Ranks& ranks,
                                          const Delegates& delegates) {
    const VERTEX u = VERTEX(rows.first + row), all = VERTEX(ranks.all);
    const u32 position = delegates.position(u), other = delegates.position(w);
    Place place = {other == NOTHING ? NN : ND, u / all, other == NOTHING ? u64(w) : u64(other)};
    VERTEX owned = u;
    if (position != NOTHING) {
        place.row = position;
        if (other == NOTHING) {
            place.bucket = DN;
            place.column = w / all;
            owned = w;
        } else {
            place.bucket = DD;
            const u64 mine = delegates.degrees[position], its = delegates.degrees[other];
            if (its < mine || (its == mine && w < u)) owned = w;
        }
    }
    const u32 rank = u32(owned % all) - ranks.low;
    place.bucket = rank < ranks.span ? place.bucket * ranks.span + rank : NOTHING;
    return place;
}

// A warp's part of a tile: arcs from `begin` to before `end`, and the rows that they are in.
struct Part {
    u64 begin, end, first_row, rows;
};

__device__ __forceinline__ Part part_of(const Rows& rows, u64 tile) {
    const u64 base = rows.offsets[0], arcs = rows.offsets[rows.count] - base, size = WARP * ROUNDS;
    Part part = {};
    part.begin = (tile * (blockDim.x / WARP) + warp_id()) * size;
    part.end = part.begin + size < arcs ? part.begin + size : arcs;
    if (part.begin >= part.end) return part;
    part.first_row = row_of(rows.offsets, 0, rows.count, base + part.begin);
    part.rows = row_of(rows.offsets, part.first_row, rows.count - part.first_row, base + part.end - 1) -
                part.first_row + 1;
    return part;
}

// Lanes of the warp whose arc is in the same row as this lane's; rows ascend with lanes.
__device__ __forceinline__ u32 lanes_of_row(u64 row) {
    const u64 before = __shfl_up_sync(ALL_LANES, row, 1);
    const u32 starts = __ballot_sync(ALL_LANES, lane_id() == 0 || row != before);
    const u32 own = starts & (lanes_below() | 1u << lane_id());
    const u32 from = ALL_LANES << (31 - __clz(own));
    const u32 after = starts & ~(lanes_below() | 1u << lane_id());
    return after ? from & ((1u << (__ffs(after) - 1)) - 1) : from;
}

// lengths[b] is the address of u32 counts, which start at 0: one for each row of bucket b that is counted from the
// graph's first local row or delegate on. histogram[b * tiles + t] = arcs of bucket b in tile t.
extern "C" __global__ void count_arcs(const u64* offsets, const VERTEX* columns, u64 first_row, u64 row_count,
                                      u32 all_ranks, u32 low, u32 span, const u64* words, const u32* before,
                                      const u64* degrees, u32 buckets, u64 tiles, const u64* lengths,
                                      u64* histogram) {
    __shared__ u32 counts[MAX_BUCKETS];
    const Rows rows = {offsets, columns, first_row, row_count};
    const Ranks ranks = {all_ranks, low, span};
    const Delegates delegates = {words, before, degrees};
    for (u64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        for (u32 b = threadIdx.x; b < buckets; b += blockDim.x) counts[b] = 0;
        __syncthreads();
        const Part part = part_of(rows, tile);
        for (u64 i = part.begin + lane_id(); i - lane_id() < part.end; i += WARP) {
            u64 row = ~0ull;
            Place place = {NOTHING, 0, 0};
            if (i < part.end) {
                row = row_of(offsets, part.first_row, part.rows, offsets[0] + i);
                place = place_of(rows, row, columns[i], ranks, delegates);
            }
            const u32 alike = __match_any_sync(ALL_LANES, place.bucket);
            const u32 together = alike & lanes_of_row(row);
            if (place.bucket == NOTHING) continue;
            if (lane_id() == u32(__ffs(alike) - 1)) atomicAdd(&counts[place.bucket], u32(__popc(alike)));
            if (lane_id() == u32(__ffs(together) - 1))
                atomicAdd(reinterpret_cast<u32*>(lengths[place.bucket]) + place.row, u32(__popc(together)));
        }
        __syncthreads();
        for (u32 b = threadIdx.x; b < buckets; b += blockDim.x) histogram[b * tiles + tile] = counts[b];
        __syncthreads();
    }
}

// sums[b * tiles + t] are all arcs of earlier buckets, and those of bucket b in earlier tiles; made[b] is the address
// of the columns of bucket b, VERTEX for nn and u32 for others.
extern "C" __global__ void fill_arcs(const u64* offsets, const VERTEX* columns, u64 first_row, u64 row_count,
                                     u32 all_ranks, u32 low, u32 span, const u64* words, const u32* before,
                                     const u64* degrees, u32 buckets, u64 tiles, const u64* sums, const u64* made) {
    __shared__ u32 counts[MAX_WARPS][MAX_BUCKETS];
    __shared__ u64 begins[MAX_BUCKETS];
    const Rows rows = {offsets, columns, first_row, row_count};
    const Ranks ranks = {all_ranks, low, span};
    const Delegates delegates = {words, before, degrees};
    u32* mine = counts[warp_id()];
    for (u64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        for (u32 b = lane_id(); b < buckets; b += WARP) mine[b] = 0;
        __syncwarp();
        const Part part = part_of(rows, tile);
        u32 bucket[ROUNDS], earlier[ROUNDS];
        VERTEX column[ROUNDS];
#pragma unroll
        for (u32 round = 0; round < ROUNDS; ++round) {
            const u64 i = part.begin + round * WARP + lane_id();
            Place place = {NOTHING, 0, 0};
            if (i < part.end)
                place = place_of(rows, row_of(offsets, part.first_row, part.rows, offsets[0] + i), columns[i], ranks,
                                 delegates);
            const u32 alike = __match_any_sync(ALL_LANES, place.bucket);
            bucket[round] = place.bucket;
            column[round] = VERTEX(place.column);
            earlier[round] = place.bucket == NOTHING ? 0 : mine[place.bucket] + __popc(alike & lanes_below());
            __syncwarp();
            if (place.bucket != NOTHING && lane_id() == u32(__ffs(alike) - 1)) mine[place.bucket] += __popc(alike);
            __syncwarp();
        }
        __syncthreads();
        for (u32 b = threadIdx.x; b < buckets; b += blockDim.x) {
            u32 sum = 0;
            for (u32 warp = 0; warp < blockDim.x / WARP; ++warp) {
                const u32 count = counts[warp][b];
                counts[warp][b] = sum;
                sum += count;
            }
            begins[b] = sums[b * tiles + tile] - sums[b * tiles];
        }
        __syncthreads();
#pragma unroll
        for (u32 round = 0; round < ROUNDS; ++round) {
            const u32 b = bucket[round];
            if (b == NOTHING) continue;
            const u64 at = begins[b] + mine[b] + earlier[round];
            if (b < span) {
                reinterpret_cast<VERTEX*>(made[b])[at] = column[round];
            } else {
                reinterpret_cast<u32*>(made[b])[at] = u32(column[round]);
            }
        }
        __syncthreads();
    }
}
