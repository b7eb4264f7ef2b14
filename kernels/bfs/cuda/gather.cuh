// Gathering neighbours (Merrill, Garland, Grimshaw, PPoPP 2012, section 4.1): a block reads a tile of rows,
// one per thread, in one of four ways that can be exchanged for each other.
//
// GATHER_SERIAL: every thread reads its own row. GATHER_WARP: the lanes of a warp read one of their rows
// after the other. GATHER_SCAN: threads list the arcs of their rows in shared memory, packed by a prefix
// sum, and the block reads what is listed. GATHER_SCAN_WARP_CTA: rows of at least a block's threads are read
// by the block, of at least a warp's by a warp, and what is left by scan.
//
// Use. `Measured tile = measure(way, length, shared)` numbers the arcs of the tile: every arc has one slot in
// [0, total()), arcs of rows read by warps and blocks first. It needs two barriers, and is needed for slots
// and for scans. `gather(way, begin, length, owner, tile, shared, visit)` then calls `visit(items)` with
// Gathered<Visit::BATCH>. Whole warps call it: every lane does, with live[k] false where it has nothing, so a
// visitor may use warp operations, but no barrier of the block. Every arc of the tile is visited once; which
// thread visits it is not told. All threads of the block call both, with length 0 for no row.
//
// A visitor: struct { static constexpr u32 BATCH; static constexpr bool OWNERS; template operator() }. BATCH
// arcs are handed over together, so that their reads can overlap; without OWNERS `owner` is not kept.
// The block has a multiple of 32 threads, at most 1024, and `gather_bytes` (parts.py) of shared memory for the list.

#include "kernels/cuda/types.cuh"

enum GatherName : u32 { GATHER_SERIAL, GATHER_WARP, GATHER_SCAN, GATHER_SCAN_WARP_CTA };  // as in parts.py

constexpr u32 LISTED = 4;  // arcs of a scan that are listed at a time, per thread of the block
constexpr i64 NEVER = i64(1) << 62;
constexpr u32 FINE_BITS = 16;  // a tile has fewer than 32 * 1024 arcs in rows shorter than a warp

struct GatherWay {
    i64 block_least;  // the shortest row that a block reads,
    i64 warp_least;   // and that a warp reads; the rest goes
    bool serial;      // to its thread, or to the scan
};

__device__ __forceinline__ GatherWay gather_way(u32 name) {
    GatherWay way{NEVER, NEVER, name == GATHER_SERIAL};
    if (name == GATHER_WARP) way.warp_least = 1;
    if (name == GATHER_SCAN_WARP_CTA) way = {i64(blockDim.x) < WARP ? WARP : i64(blockDim.x), WARP, false};
    return way;
}

// Shared by the block. `arcs` and `owners` point to `LISTED * blockDim.x` elements each (`owners` only if
// the visitor wants them).
struct GatherShared {
    u64 sums[WARP + 1];
    u32 elected;
    i64 begin, length;
    u64 slot;
    VERTEX owner;
    i64* arcs;
    VERTEX* owners;
};

template <u32 K>
struct Gathered {
    bool live[K];
    u64 slot[K];
    i64 arc[K];  // place in column_indices
    VERTEX owner[K];
};

struct Measured {
    u64 coarse, fine;  // slot of this thread's first arc, by whom its row is read; `fine` counts from 0 too
    u64 coarse_total, fine_total;
    __device__ __forceinline__ u64 total() const { return coarse_total + fine_total; }
};

__device__ __forceinline__ Measured measure(const GatherWay& way, i64 length, GatherShared& shared) {
    // Where only short rows are scanned, both sums fit into one word and are made together.
    bool packed = way.warp_least <= WARP;
    bool coarse = length >= way.warp_least;
    u64 total, sum = block_exclusive_sum<u64>(packed && coarse ? u64(length) << FINE_BITS : u64(length), shared.sums, total);
    if (!packed) return {0, sum, 0, total};
    constexpr u64 FINE = (1ull << FINE_BITS) - 1;
    return {sum >> FINE_BITS, sum & FINE, total >> FINE_BITS, total & FINE};
}

// Items first, first + stride, ... of a row or list that is read side by side, below `end`.
template <class Visit, class Item>
__device__ __forceinline__ void visit_strip(u64 first, u64 end, u64 stride, Visit& visit, const Item& item) {
    constexpr u32 K = Visit::BATCH;
#pragma unroll 1
    for (; first < end; first += K * stride) {
        Gathered<K> items;
#pragma unroll
        for (u32 k = 0; k < K; ++k) {
            u64 i = first + k * stride + lane_id();
            items.live[k] = i < end;
            items.slot[k] = 0;
            items.arc[k] = 0;
            items.owner[k] = VERTEX(0);
            if (items.live[k]) item(i, items.slot[k], items.arc[k], items.owner[k]);
        }
        visit(items);
    }
}

template <class Visit>
__device__ __forceinline__ void gather_by_block(const GatherWay& way, i64 begin, i64& length, VERTEX owner, u64& slot,
                                                GatherShared& shared, Visit& visit) {
    bool waits = length >= way.block_least;
    while (__syncthreads_or(waits)) {
        if (waits) shared.elected = threadIdx.x;
        __syncthreads();
        if (waits && shared.elected == threadIdx.x) {
            shared.begin = begin;
            shared.length = length;
            shared.slot = slot;
            shared.owner = owner;
            waits = false;
            length = 0;
        }
        __syncthreads();
        i64 row = shared.begin;
        u64 to = shared.slot;
        VERTEX tail = shared.owner;
        visit_strip(warp_id() * WARP, u64(shared.length), blockDim.x, visit,
                    [&](u64 i, u64& its_slot, i64& arc, VERTEX& its_owner) {
                        its_slot = to + i;
                        arc = row + i64(i);
                        its_owner = tail;
                    });
    }
}

template <class Visit>
__device__ __forceinline__ void gather_by_warp(const GatherWay& way, i64 begin, i64& length, VERTEX owner, u64 slot,
                                               Visit& visit) {
    u32 rows = __ballot_sync(ALL_LANES, length >= way.warp_least);
    while (rows) {
        u32 from = __ffs(rows) - 1;
        rows &= rows - 1;
        i64 row = __shfl_sync(ALL_LANES, begin, from);
        u64 arcs = u64(__shfl_sync(ALL_LANES, length, from)), to = __shfl_sync(ALL_LANES, slot, from);
        VERTEX tail = Visit::OWNERS ? __shfl_sync(ALL_LANES, owner, from) : VERTEX(0);
        visit_strip(0, arcs, WARP, visit, [&](u64 i, u64& its_slot, i64& arc, VERTEX& its_owner) {
            its_slot = to + i;
            arc = row + i64(i);
            its_owner = tail;
        });
    }
    if (length >= way.warp_least) length = 0;
}

// List the arcs of scanned rows that are numbered [done, done + round); `taken` counts this thread's.
template <bool OWNERS>
__device__ __forceinline__ void list_arcs(i64 begin, i64 length, VERTEX owner, const Measured& tile, u64 done, u64 round,
                                          u64& taken, i64* arcs, VERTEX* owners) {
    __builtin_assume(__isShared(arcs));
    if (OWNERS) __builtin_assume(__isShared(owners));
#pragma unroll 1
    for (; taken < u64(length) && tile.fine + taken < done + round; ++taken) {
        arcs[tile.fine + taken - done] = begin + i64(taken);
        if (OWNERS) owners[tile.fine + taken - done] = owner;
    }
}

template <class Visit>
__device__ __forceinline__ void gather_by_scan(i64 begin, i64 length, VERTEX owner, const Measured& tile,
                                               GatherShared& shared, Visit& visit) {
    i64* arcs = shared.arcs;
    VERTEX* owners = shared.owners;
    __builtin_assume(__isShared(arcs));
    if (Visit::OWNERS) __builtin_assume(__isShared(owners));
    u64 round = u64(LISTED) * blockDim.x, taken = 0;
    for (u64 done = 0; done < tile.fine_total; done += round) {
        list_arcs<Visit::OWNERS>(begin, length, owner, tile, done, round, taken, arcs, owners);
        __syncthreads();
        u64 left = tile.fine_total - done, base = tile.coarse_total + done;
        visit_strip(warp_id() * WARP, left < round ? left : round, blockDim.x, visit,
                    [&](u64 i, u64& its_slot, i64& arc, VERTEX& its_owner) {
                        its_slot = base + i;
                        arc = arcs[i];
                        if (Visit::OWNERS) its_owner = owners[i];
                    });
        __syncthreads();
    }
}

template <class Visit>
__device__ __forceinline__ void gather_serially(i64 begin, i64 length, VERTEX owner, u64 slot, Visit& visit) {
    constexpr u32 K = Visit::BATCH;
#pragma unroll 1
    for (i64 first = 0; __any_sync(ALL_LANES, first < length); first += K) {
        Gathered<K> items;
#pragma unroll
        for (u32 k = 0; k < K; ++k) {
            items.live[k] = first + k < length;
            items.slot[k] = slot + u64(first) + k;
            items.arc[k] = begin + first + k;
            items.owner[k] = owner;
        }
        visit(items);
    }
}

template <class Visit>
__device__ __forceinline__ void gather(const GatherWay& way, i64 begin, i64 length, VERTEX owner, const Measured& tile,
                                       GatherShared& shared, Visit& visit) {
    u64 slot = tile.coarse;
    if (way.block_least < NEVER) gather_by_block(way, begin, length, owner, slot, shared, visit);
    if (way.warp_least < NEVER) gather_by_warp(way, begin, length, owner, slot, visit);
    if (way.serial)
        gather_serially(begin, length, owner, tile.coarse_total + tile.fine, visit);
    else if (way.warp_least > 1)
        gather_by_scan(begin, length, owner, tile, shared, visit);
}
