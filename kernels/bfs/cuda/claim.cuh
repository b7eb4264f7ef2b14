// How a vertex is claimed top-down, and where claimed vertices go.

#include "kernels/bfs/cuda/search.cuh"

constexpr u32 STAGE = 96;        // entries that a warp holds back before it reserves room in the queue
constexpr u32 STAGE_FULL = 64;

constexpr VERTEX SAMPLED = 64;  // a push without a queue reads the weight of one in so many vertices

// Where a grid-wide step puts what it claims: staged per warp, so that the tail is rarely touched. If it `counts_only`, it
// counts vertices, and weights by a sample. Where vertices are numbered by degree, every 64th of them stands for its
// neighbours, the middle one rather than the first, which is the largest hub of all.
struct GridSink {
    static constexpr bool DIRECT = false, COUNTS_ONLY = false;
    const Search& s;
    const bool counts_only;
    Entries staged;
    u32 count = 0;
    u64 found = 0, weight = 0;

    __device__ __forceinline__ GridSink(const Search& search, u64* arena, bool counts) : s(search), counts_only(counts) {
        staged.words = arena + warp_id() * STAGE;
        staged.owners = reinterpret_cast<VERTEX*>(arena + blockDim.x / WARP * STAGE) + warp_id() * STAGE;
    }

    __device__ __forceinline__ void write(u64 base) {
        __syncwarp();
        for (u32 i = lane_id(); i < count; i += WARP) s.queue.write(base + i, staged.read(i));
        __syncwarp();
        count = 0;
    }

    // Keep one entry of each lane in `lanes`, which this lane is in if `mine`.
    __device__ __forceinline__ void put(u32 lanes, bool mine, const Row& row) {
        if (mine) staged.write(count + __popc(lanes & lanes_below()), whole_entry(row));
        count += __popc(lanes);
        if (count >= STAGE_FULL) write(reserve(s, count));
    }

    __device__ __forceinline__ void put_rows(u32 units, u32 upto, u32 total, const Row& row) {
        u64 base = reserve(s, count + total);
        u64 behind = base + count;
        write(base);
        cut_rows(units, upto, total, row, [&](u32 k, const Entry& entry) { s.queue.write(behind + k, entry); });
    }

    __device__ __forceinline__ void list(bool mine, VERTEX vertex) { list_hubs(s, mine, vertex); }

    // Empty the block's stages with one reservation, and add up its counts.
    __device__ __forceinline__ void finish(Progress& p) {
        if (!counts_only) {
            u32 offset = 0;
            if (lane_id() == 0) offset = atomicAdd(&p.staged, count);
            offset = __shfl_sync(ALL_LANES, offset, 0);
            __syncthreads();
            if (threadIdx.x == 0) {
                p.base = p.staged ? s.end + atomicAdd(&s.control[TAIL], u64(p.staged)) : 0;
                p.staged = 0;
            }
            __syncthreads();
            write(p.base + offset);
        }
        add_totals(s, p, found, weight);
    }
};

// One that always only counts, where levels without a queue have code of their own.
struct Counter {
    static constexpr bool DIRECT = false, COUNTS_ONLY = true, counts_only = true;
    u64 found = 0, weight = 0;
    __device__ __forceinline__ void put(u32, bool, const Row&) {}
    __device__ __forceinline__ void put_rows(u32, u32, u32, const Row&) {}
    __device__ __forceinline__ void list(bool, VERTEX) {}
};

// Hand over claimed vertices, one per lane at most; all lanes call it.
template <class Sink>
__device__ __forceinline__ void hand_over(const Search& s, Sink& sink, bool claimed, const Extent& extent,
                                          VERTEX vertex) {
    sink.found += claimed;
    if (SKIPS_EMPTY && !__any_sync(ALL_LANES, claimed)) return;
    Row row = claimed_row(s.rows, extent, vertex, claimed);
    sink.weight += row.weight();
    if (__any_sync(ALL_LANES, row.is_long())) {
        auto units = row.units();
        auto upto = warp_inclusive_sum(units);
        auto total = __shfl_sync(ALL_LANES, upto, WARP - 1);
        if (total <= MAX_CUT) {
            sink.put_rows(u32(units), u32(upto), u32(total), row);
            return;
        }
        sink.list(row.is_long(), vertex);
        if (row.is_long()) row.drop();
    }
    u32 lanes = __ballot_sync(ALL_LANES, row.is_short());
    if (lanes) sink.put(lanes, row.is_short(), row);
}

// Claim the ends of K arcs per lane, and use `vertex` up. The extents of their rows are read while the claim is under way.
template <u32 K, bool COUNTS_ONLY, class Sink>
__device__ __forceinline__ void claim(const Search& s, Sink& sink, VERTEX (&vertex)[K], const bool (&live)[K],
                                      const VERTEX (&owner)[K], u32 depth) {
    bool unvisited[K], claimed[K];
    Extent extent[K];
#pragma unroll
    for (u32 k = 0; k < K; ++k)
        unvisited[k] = live[k] && (Sink::DIRECT || !test_bit(TREE ? s.other : s.exact, vertex[k]));
#pragma unroll
    for (u32 k = 0; k < K; ++k) {
        claimed[k] = false;
        extent[k] = Extent{};
        if (unvisited[k]) {
            if (!COUNTS_ONLY) extent[k] = read_extent(s.rows, vertex[k]);
            if (TREE) {
                claimed[k] = atomicMin(&s.keys[vertex[k]], make_key(depth, owner[k])) == UNREACHED;
            } else {
                u32 bit = 1u << (vertex[k] & 31);
                claimed[k] = !(atomicOr(&s.exact[vertex[k] >> 5], bit) & bit);
            }
        }
    }
#pragma unroll ONE_HAND_OVER && !COUNTS_ONLY ? 1 : K
    for (u32 k = 0; k < K; ++k) {
        if (claimed[0]) {
            if (TREE)
                set_bit(s.exact, vertex[0]);
            else
                s.distance[vertex[0]] = i32(depth);
            if (COUNTS_ONLY && vertex[0] % SAMPLED == SAMPLED / 2)
                sink.weight += SAMPLED * row_weight(s.rows, vertex[0]);
        }
        if constexpr (COUNTS_ONLY)
            sink.found += claimed[0];
        else
            hand_over(s, sink, claimed[0], extent[0], vertex[0]);
        // The next one moves to the front, since a place known only while it runs would be one in local memory.
#pragma unroll
        for (u32 j = 1; j < K; ++j) {
            claimed[j - 1] = claimed[j];
            extent[j - 1] = extent[j];
            vertex[j - 1] = vertex[j];
        }
    }
}
