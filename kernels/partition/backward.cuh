// Backward visits: destinations that are not seen yet look for a parent that is (section IV-B). In a symmetric
// graph a parent that is seen is on the frontier, so `seen` serves for it. Rows ascend, so the first hit is the
// smallest parent. First columns lie side by side, and most rows end there; a lane tries a few more, and the warp
// the rest.

#include "kernels/partition/rank.cuh"

#if !ENCODED  // that of encoded rows is in encoded.cuh

constexpr u32 TRIES = 4;  // columns that a lane has under way at once, after the first

// The rest of a row that a lane looks at, from its second column on. Whole warps call it.
__device__ __forceinline__ u32 later_seen(bool looks, u64 row, const OFFSET* offsets, Columns<u32> columns,
                                          const u32* seen) {
    u64 at = looks ? u64(offsets[row]) + 1 : 0, end = looks ? u64(offsets[row + 1]) : 0;
    u32 hit = NONE, column[TRIES];
#pragma unroll
    for (u32 k = 0; k < TRIES; ++k) column[k] = at + k < end ? columns[at + k] : NONE;
#pragma unroll
    for (u32 k = TRIES; k-- > 0;)
        if (column[k] != NONE && test_bit(seen, column[k])) hit = column[k];
    at += TRIES;
    u32 open = __ballot_sync(ALL_LANES, hit == NONE && at < end);
    while (open) {
        u32 lane = __ffs(open) - 1, result = NONE;
        open &= open - 1;
        u64 last = __shfl_sync(ALL_LANES, end, lane);
        for (u64 i = __shfl_sync(ALL_LANES, at, lane); i < last && result == NONE; i += WARP) {
            u32 next = i + lane_id() < last ? columns[i + lane_id()] : NONE;
            u32 hits = __ballot_sync(ALL_LANES, next != NONE && test_bit(seen, next));
            if (hits) result = __shfl_sync(ALL_LANES, next, __ffs(hits) - 1);
        }
        if (lane_id() == lane) hit = result;
    }
    return hit;
}

// A parent for each row of a batch that looks.
__device__ __forceinline__ void first_seen(const bool (&looks)[BATCH], const u64 (&row)[BATCH], const OFFSET* offsets,
                                           Columns<u32> columns, const u32* heads, const u32* seen, u32 (&hit)[BATCH]) {
    u32 head[BATCH];
#pragma unroll
    for (u32 k = 0; k < BATCH; ++k) head[k] = looks[k] ? heads[row[k]] : NONE;
#pragma unroll
    for (u32 k = 0; k < BATCH; ++k) hit[k] = looks[k] && test_bit(seen, head[k]) ? head[k] : NONE;
#pragma unroll
    for (u32 k = 0; k < BATCH; ++k) {
        bool further = looks[k] && hit[k] == NONE;
        if (!__any_sync(ALL_LANES, further)) continue;
        u32 later = later_seen(further, row[k], offsets, columns, seen);
        if (further) hit[k] = later;
    }
}

#endif

// What looks for parents: rows of `mask` whose own bit is not in `own`, and if no tree is asked for, not in `fresh`.
struct Lookers {
    const u32 *mask, *own;
    u32* fresh;
    u64* keys;
    u64 words;
};

// `vertex(column)` names a parent.
template <class Name>
__device__ __forceinline__ void look(const Lookers& of, const OFFSET* offsets, Columns<u32> columns, const u32* heads,
                                     const u32* seen, const Name& vertex) {
    u32 width = words_at_once(of.words);
    for (u64 first = global_thread() / WARP * width; first < of.words; first += global_threads() / WARP * width) {
        u64 word = first + lane_id();
        u32 bits = lane_id() < width && word < of.words ? of.mask[word] & ~of.own[word] : 0;
        // A tree takes the smallest parent of all subgraphs, distances any.
        if (!TREE && bits) bits &= ~*reinterpret_cast<volatile u32*>(&of.fresh[word]);
        each_bit(first, bits, [&](const u64(&row)[BATCH], const bool(&looks)[BATCH]) {
            u32 parent[BATCH];
            first_seen(looks, row, offsets, columns, heads, seen, parent);
#pragma unroll
            for (u32 k = 0; k < BATCH; ++k) {
                u32 hits = __ballot_sync(ALL_LANES, parent[k] != NONE);
                if (hits && lane_id() == 0) atomicOr(&of.fresh[row[k] / 32], hits);
            }
            if (!TREE) return;
#pragma unroll
            for (u32 k = 0; k < BATCH; ++k)
                if (parent[k] != NONE) lower_key(&of.keys[row[k]], u64(vertex(parent[k])));
        });
    }
}

__device__ __forceinline__ void look_along_dd(const World& w, const Rank& r, u32* found) {
    look({r.dd_mask, r.delegates_seen, found, r.delegate_keys, w.words}, r.dd_offsets, r.dd_columns, r.dd_heads,
         r.delegates_seen, [&](u32 d) { return w.delegates[d]; });
}

__device__ __forceinline__ void look_along_nd(const World& w, const Rank& r, u32* found) {
    look({r.dn_mask, r.delegates_seen, found, r.delegate_keys, w.words}, r.dn_offsets, r.dn_columns, r.dn_heads, r.seen,
         [&](u32 local) { return u64(local) * w.rank_count + r.rank; });
}

__device__ __forceinline__ void look_along_dn(const World& w, const Rank& r) {
    look({r.nd_mask, r.seen, r.fresh, r.keys, r.local_words}, r.nd_offsets, r.nd_columns, r.nd_heads, r.delegates_seen,
         [&](u32 d) { return w.delegates[d]; });
}
