// Backward visits: destinations that are not seen yet look for a parent that is (section IV-B). In a symmetric
// graph a parent that is seen is on the frontier, so `seen` serves for it. A lane tries the first arcs of a row,
// and the warp the rest; rows ascend, so the first hit is the smallest parent.

#include "kernels/partition/rank.cuh"

#if !ENCODED  // that of encoded rows is in encoded.cuh

constexpr u32 LANE_TRIES = 4;

__device__ __forceinline__ u32 first_seen(bool looks, u64 row, const OFFSET* offsets, Columns<u32> columns,
                                          const u32* seen) {
    u64 at = looks ? offsets[row] : 0, end = looks ? offsets[row + 1] : 0;
    u32 hit = NONE;
    for (u32 tries = 0; tries < LANE_TRIES && at < end && hit == NONE; ++tries, ++at) {
        u32 column = columns[at];
        if (test_bit(seen, column)) hit = column;
    }
    u32 open = __ballot_sync(ALL_LANES, hit == NONE && at < end);
    while (open) {
        u32 lane = __ffs(open) - 1, result = NONE;
        open &= open - 1;
        u64 last = __shfl_sync(ALL_LANES, end, lane);
        for (u64 i = __shfl_sync(ALL_LANES, at, lane); i < last && result == NONE; i += WARP) {
            u32 column = i + lane_id() < last ? columns[i + lane_id()] : NONE;
            u32 hits = __ballot_sync(ALL_LANES, column != NONE && test_bit(seen, column));
            if (hits) result = __shfl_sync(ALL_LANES, column, __ffs(hits) - 1);
        }
        if (lane_id() == lane) hit = result;
    }
    return hit;
}

#endif

// Delegates of a source mask; `vertex(column)` names a parent.
template <class Name>
__device__ __forceinline__ void delegates_look(const World& w, const Rank& r, const u32* mask, const OFFSET* offsets,
                                               Columns<u32> columns, const u32* seen, u32* found, const Name& vertex) {
    u32 width = words_at_once(w.words);
    for (u64 first = global_thread() / WARP * width; first < w.words; first += global_threads() / WARP * width) {
        u64 own = first + lane_id();
        u32 bits = lane_id() < width && own < w.words ? mask[own] & ~r.delegates_seen[own] : 0;
        u32 some = __ballot_sync(ALL_LANES, bits != 0);
        while (some) {
            u32 from = __ffs(some) - 1;
            some &= some - 1;
            bool looks = __shfl_sync(ALL_LANES, bits, from) >> lane_id() & 1;
            u64 d = (first + from) * 32 + lane_id();
            u32 parent = first_seen(looks, d, offsets, columns, seen);
            u32 hits = __ballot_sync(ALL_LANES, parent != NONE);
            if (hits && lane_id() == 0) atomicOr(&found[first + from], hits);
            if (TREE && parent != NONE) atomicMin(&r.delegate_keys[d], u64(vertex(parent)));
        }
    }
}

// Normal vertices of the source list.
__device__ __forceinline__ void normals_look(const World& w, const Rank& r) {
    for (u64 first = global_thread() - lane_id(); first < r.nd_source_count; first += global_threads()) {
        u64 i = first + lane_id();
        u32 local = i < r.nd_source_count ? r.nd_sources[i] : 0;
        bool looks = i < r.nd_source_count && !test_bit(r.seen, local);
        u32 parent = first_seen(looks, local, r.nd_offsets, r.nd_columns, r.delegates_seen);
        if (parent == NONE) continue;
        set_bit(r.fresh, local);
        if (TREE) atomicMin(&r.keys[local], u64(w.delegates[parent]));
    }
}
