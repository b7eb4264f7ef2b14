// Backward visits: destinations that are not seen yet look for a parent that is (section IV-B). In a symmetric
// graph a parent that is seen is on the frontier, so `seen` serves for it. Rows ascend, so the first hit is the
// smallest parent. First columns lie side by side, and most looks end there; the others wait until a warp has enough
// of them, when each lane tries a few more columns of two, and the warp the rest.

#include "kernels/partition/rank.cuh"

constexpr u32 TRIES = 4;       // columns that a lane has under way at once, after the first
constexpr u32 WAITING = 64;    // rows of a warp that are read at once, two by each lane
constexpr u32 MOST_WARPS = 16;

#if !ENCODED  // that of encoded rows is in encoded.cuh

// The rest of two rows of each lane, from the second column on; those that do not look have NONE for a row.
__device__ __forceinline__ void later_seen(const u32 (&row)[2], const OFFSET* offsets, Columns<u32> columns,
                                           const u32* seen, u32 (&hit)[2]) {
    OFFSET at[2], end[2];
    u32 column[2][TRIES];
#pragma unroll
    for (u32 k = 0; k < 2; ++k) {
        at[k] = row[k] == NONE ? 0 : offsets[row[k]] + 1;
        end[k] = row[k] == NONE ? 0 : offsets[row[k] + 1];
    }
#pragma unroll
    for (u32 k = 0; k < 2; ++k)
#pragma unroll
        for (u32 i = 0; i < TRIES; ++i) column[k][i] = at[k] + i < end[k] ? columns[at[k] + i] : NONE;
#pragma unroll
    for (u32 k = 0; k < 2; ++k) {
        hit[k] = NONE;
#pragma unroll
        for (u32 i = TRIES; i-- > 0;)
            if (column[k][i] != NONE && test_bit(seen, column[k][i])) hit[k] = column[k][i];
        u32 open = __ballot_sync(ALL_LANES, hit[k] == NONE && at[k] + TRIES < end[k]);
        while (open) {
            u32 lane = __ffs(open) - 1, result = NONE;
            open &= open - 1;
            OFFSET last = __shfl_sync(ALL_LANES, end[k], lane);
            for (OFFSET i = __shfl_sync(ALL_LANES, at[k], lane) + TRIES; i < last && result == NONE; i += WARP) {
                u32 next = i + lane_id() < last ? columns[i + lane_id()] : NONE;
                u32 hits = __ballot_sync(ALL_LANES, next != NONE && test_bit(seen, next));
                if (hits) result = __shfl_sync(ALL_LANES, next, __ffs(hits) - 1);
            }
            if (lane_id() == lane) hit[k] = result;
        }
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

// Look along the rows that wait, WAITING at most, and take them off the list.
template <class Name>
__device__ __forceinline__ void look_further(const Lookers& of, u32* list, u32& held, const OFFSET* offsets,
                                             Columns<u32> columns, const u32* seen, const Name& vertex) {
    u32 count = held < WAITING ? held : WAITING, row[2], parent[2];
    held -= count;
    __syncwarp();
#pragma unroll
    for (u32 k = 0; k < 2; ++k) row[k] = lane_id() + k * WARP < count ? list[held + lane_id() + k * WARP] : NONE;
    __syncwarp();
    later_seen(row, offsets, columns, seen, parent);
#pragma unroll
    for (u32 k = 0; k < 2; ++k) {
        if (parent[k] == NONE) continue;
        atomicOr(&of.fresh[row[k] / 32], 1u << (row[k] & 31));
        if (TREE) lower_key(&of.keys[row[k]], u64(vertex(parent[k])));
    }
}

// The rows of this warp that wait.
__device__ __forceinline__ u32* waiting_rows() {
    __shared__ u32 rows[MOST_WARPS][WAITING + WORDS_AT_ONCE * WARP];
    return rows[warp_id()];
}

// `vertex(column)` names a parent. Rows whose first column was not seen wait until there are enough of them.
template <class Name>
__device__ __forceinline__ void look(const Lookers& of, const OFFSET* offsets, Columns<u32> columns, const u32* heads,
                                     const u32* seen, const Name& vertex) {
    u32* list = waiting_rows();
    u32 width = words_at_once(of.words), held = 0;
    for (u64 first = global_thread() / WARP * width; first < of.words; first += global_threads() / WARP * width) {
        u64 word = first + lane_id();
        u32 bits = lane_id() < width && word < of.words ? of.mask[word] & ~of.own[word] : 0;
        // A tree takes the smallest parent of all subgraphs, distances any.
        if (!TREE && bits) bits &= ~*reinterpret_cast<volatile u32*>(&of.fresh[word]);
        each_bit(first, bits, [&](const u32(&row)[WORDS_AT_ONCE], const bool(&looks)[WORDS_AT_ONCE]) {
            u32 head[WORDS_AT_ONCE];
            bool hit[WORDS_AT_ONCE];
#pragma unroll
            for (u32 k = 0; k < WORDS_AT_ONCE; ++k) head[k] = !ENCODED && looks[k] ? heads[row[k]] : NONE;
#pragma unroll
            for (u32 k = 0; k < WORDS_AT_ONCE; ++k) hit[k] = !ENCODED && looks[k] && test_bit(seen, head[k]);
#pragma unroll
            for (u32 k = 0; k < WORDS_AT_ONCE; ++k) {
                u32 hits = __ballot_sync(ALL_LANES, hit[k]), rest = __ballot_sync(ALL_LANES, looks[k] && !hit[k]);
                if (hits && lane_id() == 0) atomicOr(&of.fresh[row[k] / 32], hits);
                if (rest >> lane_id() & 1) list[held + __popc(rest & lanes_below())] = row[k];
                held += __popc(rest);
            }
            if (TREE) {
#pragma unroll
                for (u32 k = 0; k < WORDS_AT_ONCE; ++k)
                    if (hit[k]) lower_key(&of.keys[row[k]], u64(vertex(head[k])));
            }
            while (held >= WAITING) look_further(of, list, held, offsets, columns, seen, vertex);
        });
    }
    while (held) look_further(of, list, held, offsets, columns, seen, vertex);
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
    look({r.nd_mask, r.seen, r.reached, r.keys, r.local_words}, r.nd_offsets, r.nd_columns, r.nd_heads, r.delegates_seen,
         [&](u32 d) { return w.delegates[d]; });
}
