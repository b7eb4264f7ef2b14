// Between two levels: masks are reduced, arrivals taken in, labels written, and the work of the next frontier
// counted. Peer memory is only read, in ascending order.

#include "kernels/partition/cuda/reserve.cuh"

// The sum of a warp's counts, each below 2^54, by two reductions: shuffles take five steps of 64 bits.
__device__ __forceinline__ u64 sum_counts(u64 value) {
    constexpr u32 HALF = 27;  // bits, of which 32 lanes' sum has 32
    u32 low = u32(value) & (1u << HALF) - 1, high = u32(value >> HALF);
    return __reduce_add_sync(ALL_LANES, low) + (u64(__reduce_add_sync(ALL_LANES, high)) << HALF);
}

// Counts of one thread, added up over the block and then (`flush`) to the rank's.
struct Tally {
    u32 newly = 0, rows[2] = {};  // of nd and nn, or of dn and dd
    u64 arcs[2] = {};

    __device__ __forceinline__ void add(u64* sums, u32 place, u64 value) {
        value = sum_counts(value);
        if (lane_id() == 0 && value) atomicAdd(&sums[place], value);
    }

    __device__ __forceinline__ bool any() const { return __any_sync(ALL_LANES, newly); }

    __device__ __forceinline__ void add_normals(u64* sums) {
        if (!any()) return;
        add(sums, N_NEW, newly);
        add(sums, ND_ROWS, rows[0]);
        add(sums, ND_ARCS, arcs[0]);
        add(sums, NN_ROWS, rows[1]);
    }

    __device__ __forceinline__ void add_delegates(u64* sums) {
        if (!any()) return;
        add(sums, D_NEW, newly);
        add(sums, DN_ROWS, rows[0]);
        add(sums, DN_ARCS, arcs[0]);
        add(sums, DD_ROWS, rows[1]);
        add(sums, DD_ARCS, arcs[1]);
    }
};

// Add a block's sums to the rank's counts; they are zero again afterwards.
__device__ __forceinline__ void flush(u64* sums, u64* counts) {
    __syncthreads();
    if (threadIdx.x < COUNTS) {
        u64 sum = sums[threadIdx.x];
        if (sum) atomicAdd(&counts[threadIdx.x], sum);
        sums[threadIdx.x] = 0;
    }
}

// Take in the delegates that were found; `reduced(word)` gives all ranks' masks of this level, and each word is
// asked for once. `label(delegates, mine)` labels those that are.
template <class Reduced, class Label>
__device__ __forceinline__ void commit_delegates(const World& w, const Rank& r, Tally& tally, const Reduced& reduced,
                                                 const Label& label) {
    assign_words(w.words, [&](u64 own, bool live) {
        u32 newly = 0;
        if (live) {
            newly = reduced(own);
            u32 seen = r.delegates_seen[own];
            newly &= ~seen;
            r.delegates_front[own] = newly;
            if (newly) r.delegates_seen[own] = seen | newly;
        }
        tally.newly += __popc(newly);
        each_bit(u32(own), newly, [&](const u32(&d)[WORDS_AT_ONCE], const bool(&mine)[WORDS_AT_ONCE]) {
            uint2 lengths[WORDS_AT_ONCE];
#pragma unroll
            for (u32 k = 0; k < WORDS_AT_ONCE; ++k) lengths[k] = mine[k] ? lengths_of(r, d[k]) : make_uint2(0, 0);
#pragma unroll
            for (u32 k = 0; k < WORDS_AT_ONCE; ++k) {
                tally.rows[0] += lengths[k].x != 0;
                tally.arcs[0] += lengths[k].x;
                tally.rows[1] += lengths[k].y != 0;
                tally.arcs[1] += lengths[k].y;
            }
            label(d, mine);
        });
    });
}

// Take in what came from a rank: `ids` from `begin` up to `last`, whose predecessors `vertex(i)` gives. How far they were
// read is kept for the `next` level, which is on the other side, so that nobody waits before it is written.
template <class Vertex>
__device__ __forceinline__ void receive_from(const Rank& r, u64* counts, u64 begin, u64 last, u64& next, const u32* ids,
                                             const Vertex& vertex) {
    if (global_thread() == 0) {
        next = last;
        if (last > begin) atomicAdd(&counts[ARRIVED], last - begin);
    }
    for (u64 i = begin + global_thread(); i < last; i += global_threads()) {
        u32 local = __ldcv(&ids[i]);
        if (TREE == SMALLEST ? test_bit(r.seen, local) : !set_bit(r.reached, local)) continue;
        if (TREE == SMALLEST) set_bit(r.reached, local);
        // Delegates found theirs already, and come first; only for the others is the tail asked for.
        if (!TREE || (TREE == SMALLEST && __ldcv(&r.keys[local]) < Key(NORMAL_CLASS))) continue;
        note_class(r, local);
        if (TREE == ANY)
            r.keys[local] = Key(vertex(i));
        else
            atomicMin(&r.keys[local], Key(normal_key(vertex(i))));
    }
}

// The arcs that rows of a quad have above LONG_ROW, where their bytes are full.
__device__ __forceinline__ u64 beyond_bytes(u32 bytes, u64 local, const OFFSET* offsets) {
    u64 more = 0;
#pragma unroll 1
    for (u32 k = 0; k < QUAD; ++k)
        if ((bytes >> 8 * k & 255) == LONG_ROW) more += offsets[local + k + 1] - offsets[local + k] - LONG_ROW;
    return more;
}

// The nd arcs of a word's vertices. A lane reads the lengths of all at once, a sector.
__device__ __forceinline__ u64 count_arcs(const Rank& r, u64 own, u32 newly) {
    const uint4* lengths = reinterpret_cast<const uint4*>(r.nd_lengths + own * WARP);
    uint4 low = lengths[0], high = lengths[1];
    u32 bytes[QUADS] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}, arcs = 0;
    bool full = false;
#pragma unroll
    for (u32 q = 0; q < QUADS; ++q) {
        bytes[q] &= spread(newly >> QUAD * q & 15);
        arcs = sum_bytes(bytes[q], arcs);
        full |= any_full_byte(bytes[q]);
    }
    u64 more = 0;
#pragma unroll 1
    for (u32 q = 0; full && q < QUADS; ++q) {
        u32 quad = reinterpret_cast<const u32*>(lengths)[q] & spread(newly >> QUAD * q & 15);
        if (any_full_byte(quad)) more += beyond_bytes(quad, own * WARP + q * QUAD, r.nd_offsets);
    }
    return arcs + more;
}

// What is done with the normal vertices that commit.
struct Commit {
    bool lists_nn, lists_nd;  // those with nn arcs, and with nd arcs
    u32 most_nn;              // that a block lists
    bool sweeps;              // all with nd arcs are reached
    bool counts_arcs;         // of nd
};

// Make the newly visited normal vertices the frontier. `each(own, live, newly)` is called by whole warps for the word of each lane,
// if it is live, and those of it that are newly visited.
template <class Each>
__device__ __forceinline__ void commit_normals(const Rank& r, u64* counts, Tally& tally, const Commit& asked, const Each& each) {
    u32 words = u32(r.local_words), width = words_at_once(words), stride = u32(global_threads() / WARP) * width;
    auto live = [&](u32 first) { return lane_id() < width && first + lane_id() < words; };
    u32 nd_rows = 0, nn_rows = 0;
    // The next words are asked for before these are gone through.
    u32 first = u32(global_thread() / WARP) * width;
    u32 reached[2], seen[2], next_reached[2], next_seen[2];
    auto ask = [&](u32 from, u32 (&reached)[2], u32 (&seen)[2]) {
#pragma unroll
        for (u32 k = 0; k < 2; ++k, from += stride) {
            u32 own = from + lane_id();
            reached[k] = live(from) ? r.reached[own] | (asked.sweeps ? r.nd_mask[own] : 0) : 0;
            seen[k] = live(from) ? r.seen[own] : 0;
        }
    };
    for (ask(first, reached, seen); first < words; first += 2 * stride) {
        ask(first + 2 * stride, next_reached, next_seen);
        // Two of a lane are under way, but what is done with one is long, and there once.
#pragma unroll 1
        for (u32 k = 0; k < 2; ++k) {
            u32 from = first + k * stride, own = from + lane_id();
            u32 now = k ? reached[1] : reached[0], newly = now & ~(k ? seen[1] : seen[0]);
            if (live(from)) r.front[own] = newly;
            if (newly) {
                r.seen[own] = now;
                if (asked.sweeps) r.reached[own] = now;
                nd_rows += __popc(newly & r.nd_mask[own]);
                nn_rows += __popc(newly & r.nn_mask[own]);
                tally.newly += __popc(newly);
                if (asked.counts_arcs) tally.arcs[0] += count_arcs(r, own, newly);
            }
            each(own, live(from), newly);
        }
#pragma unroll
        for (u32 k = 0; k < 2; ++k) reached[k] = next_reached[k], seen[k] = next_seen[k];
    }
    first = u32(global_thread() / WARP) * width;
    tally.rows[0] += nd_rows;
    tally.rows[1] += nn_rows;
    if (!asked.lists_nn && !asked.lists_nd) return;
    u64 wanted[2] = {asked.lists_nn ? __reduce_add_sync(ALL_LANES, nn_rows) : 0,
                     asked.lists_nd ? __reduce_add_sync(ALL_LANES, nd_rows) : 0};
    u64 begin[2];
    u64* const tails[2] = {&counts[NN_TAIL], &counts[ND_TAIL]};
    const u32 most[2] = {asked.most_nn, ~0u};
    reserve_together(wanted, most, tails, begin);
    if (begin[0] & TOO_MANY) wanted[0] = 0;
    if (!(wanted[0] | wanted[1])) return;
    for (; first < words; first += stride) {
        u32 own = first + lane_id();
        u32 front = live(first) ? r.front[own] : 0;
        if (wanted[0]) begin[0] = list_bits(r.nn_queue, begin[0], first, front ? front & r.nn_mask[own] : 0);
        if (wanted[1]) begin[1] = list_bits(r.nd_queue, begin[1], first, front ? front & r.nd_mask[own] : 0);
    }
}
