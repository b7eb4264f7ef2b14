// Backward visits: destinations that are not seen yet look for a parent that is (section IV-B). In a symmetric
// graph a parent that is seen is on the frontier, so `seen` serves for it. Rows ascend, so the first hit is the
// smallest parent. The first two columns of rows lie side by side, and most looks end there; the others wait until a
// warp has enough of them, when each lane tries a few more columns of two, and the warp the rest.

#include "kernels/partition/directions.cuh"

constexpr u32 HEADS = 2;       // columns of a row that lie beside those of others
constexpr u32 TRIES = 4;       // columns that a lane has under way at once, after these
constexpr u32 WAITING = 64;    // rows of a warp that are read at once, two by each lane
constexpr u32 MOST_WARPS = 16;

#if !ENCODED  // that of encoded rows is in encoded.cuh

// The rest of two rows of each lane, behind the first columns; those that do not look have NONE for a row.
__device__ __forceinline__ void later_seen(const u32 (&row)[2], const OFFSET* offsets, Columns<u32> columns,
                                           const u32* seen, u32 (&hit)[2]) {
    OFFSET at[2], end[2];
    u32 column[2][TRIES];
#pragma unroll
    for (u32 k = 0; k < 2; ++k) {
        at[k] = row[k] == NONE ? 0 : offsets[row[k]] + HEADS;
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

// The delegates that look along dd rows. The owner of one has its arcs to busier delegates, and finds a parent soon; others
// have the rest of them, mostly in vain, so they look later and leave out what the owner has found.
enum Lookers : u32 { ALL, OWN, OTHERS };

// One of the three visits: what looks for parents are rows of `mask` whose own bit is not in `own`, and unless the
// smallest parent is asked for, not in `fresh`. Its fields are chosen where they are used: one function for three visits is
// compiled once, and holds no pointer longer than it needs it.
struct Looking {
    const World& w;
    const Rank& r;
    Subgraph visit;  // ND: delegates along dn rows; DN: normal vertices along nd rows; DD
    Lookers lookers;
    u32* found;

    __device__ __forceinline__ bool normals() const { return visit == DN; }
    __device__ __forceinline__ const u32* mask() const { return visit == DD ? r.dd_mask : visit == ND ? r.dn_mask : r.nd_mask; }
    __device__ __forceinline__ const u32* own() const { return normals() ? r.seen : r.delegates_seen; }
    __device__ __forceinline__ const u32* seen() const { return visit == ND ? r.seen : r.delegates_seen; }
    __device__ __forceinline__ u32* fresh() const { return normals() ? r.reached : found; }
    // Of a word's rows those that look.
    __device__ __forceinline__ u32 open(u64 word) const {
        u32 rows = mask()[word] & ~own()[word];
        // The smallest parent may be in any subgraph.
        if (TREE == SMALLEST || !rows) return rows;
        if (lookers == OWN) rows &= r.own_delegates[word];
        if (lookers == OTHERS) rows &= ~r.own_delegates[word];
        if (rows) rows &= ~*reinterpret_cast<volatile u32*>(&fresh()[word]);
        // What others have found by now is one look less, and what they find later is found twice.
        bool asks = r.own_delegates && (visit == ND || lookers == OTHERS);
        for (u32 from = 0; asks && rows && from < w.rank_count; ++from)
            if (from != r.rank) rows &= ~__ldcv(&w.ranks[from].found[found - r.found + word]);
        return rows;
    }
    __device__ __forceinline__ u64 words() const { return normals() ? r.local_words : w.words; }
    // Those of two rows each.
    __device__ __forceinline__ const uint4* heads() const {
        return reinterpret_cast<const uint4*>(visit == DD ? r.dd_heads : visit == ND ? r.dn_heads : r.nd_heads);
    }
    // What stands for no column: a bit of `seen` that is never set.
    __device__ __forceinline__ u32 no_column() const { return u32(visit == ND ? r.local_words : w.words) * 32; }
    __device__ __forceinline__ const OFFSET* offsets() const {
        return visit == DD ? r.dd_offsets : visit == ND ? r.dn_offsets : r.nd_offsets;
    }
    __device__ __forceinline__ Columns<u32> columns() const {
        return visit == DD ? r.dd_columns : visit == ND ? r.dn_columns : r.nd_columns;
    }
    // Nobody else finds delegates for a normal vertex in this level, and keys of nn arcs are larger.
    __device__ __forceinline__ void keep(u32 row, u32 parent) const {
        Key key = Key(vertex(parent));
        if (normals())
            r.keys[row] = key;
        else if (TREE == ANY)
            r.delegate_keys[row] = key;
        else
            lower_key(&r.delegate_keys[row], key);
    }
    __device__ __forceinline__ u64 vertex(u32 parent) const {
        return visit == ND ? u64(parent) * w.rank_count + r.rank : u64(w.delegates[parent]);
    }
};

// Look along the rows that wait, WAITING at most, and take them off the list.
__device__ __forceinline__ void look_further(const Looking& l, u32* list, u32& held) {
    u32 count = held < WAITING ? held : WAITING, row[2], parent[2];
    held -= count;
    __syncwarp();
#pragma unroll
    for (u32 k = 0; k < 2; ++k) row[k] = lane_id() + k * WARP < count ? list[held + lane_id() + k * WARP] : NONE;
    __syncwarp();
    later_seen(row, l.offsets(), l.columns(), l.seen(), parent);
#pragma unroll
    for (u32 k = 0; k < 2; ++k) {
        if (parent[k] == NONE) continue;
        atomicOr(&l.fresh()[row[k] / 32], 1u << (row[k] & 31));
        if (TREE) l.keep(row[k], parent[k]);
    }
}

// The rows of this warp that wait: fewer than WAITING, and those that a quad of each lane adds.
__device__ __forceinline__ u32* waiting_rows() {
    __shared__ u32 rows[MOST_WARPS][WAITING + QUAD * WARP];
    return rows[warp_id()];
}

// Of a quad's rows that look, those that found a parent in their first columns, and those that have others; a bit each.
struct Looked {
    u32 hits, rest;
};

__device__ __forceinline__ Looked look_first(const Looking& l, u32 row, u32 bits) {
    u32 none = l.no_column(), column[QUAD][HEADS], word[QUAD][HEADS];
#pragma unroll
    for (u32 k = 0; k < QUAD; k += 2) {
        uint4 heads = !ENCODED && bits >> k & 3 ? l.heads()[(row + k) / 2] : make_uint4(none, none, none, none);
        column[k][0] = heads.x, column[k][1] = heads.y, column[k + 1][0] = heads.z, column[k + 1][1] = heads.w;
    }
    // All are read at once: a branch would let one wait for the other.
#pragma unroll
    for (u32 k = 0; k < QUAD; ++k)
#pragma unroll
        for (u32 i = 0; i < HEADS; ++i) word[k][i] = bits >> k & 1 ? l.seen()[column[k][i] / 32] : 0;
    Looked looked{0, 0};
#pragma unroll
    for (u32 k = 0; k < QUAD; ++k) {
        bool first = word[k][0] >> (column[k][0] & 31) & 1, hit = first || word[k][1] >> (column[k][1] & 31) & 1;
        looked.hits |= u32(hit) << k;
        looked.rest |= u32(!hit && (ENCODED || column[k][1] != none)) << k;
        // The first column's vertex is what is expected of a normal vertex.
        if (TREE && hit && !(TREE == ANY && first && l.normals())) l.keep(row + k, column[k][first ? 0 : 1]);
    }
    looked.rest &= bits;
    return looked;
}

// Rows with further columns than the first two, of which none was seen, wait until there are enough of them, or no more.
__device__ __forceinline__ void look(const World& w, const Rank& r, Subgraph visit, Lookers lookers, u32* found) {
    const Looking l{w, r, visit, lookers, found};
    u32* list = waiting_rows();
    u64 words = l.words(), warps = global_threads() / WARP, warp = global_thread() / WARP;
    u32 width = words_at_once(words), held = 0;
    bool over = false;
    for (u64 round = 0; !over; ++round) {
        // Delegates of like length have like numbers, so their words are dealt to all warps.
        u64 word = l.normals() ? (round * warps + warp) * width + lane_id() : (round * width + lane_id()) * warps + warp;
        over = __shfl_sync(ALL_LANES, word, 0) >= words;
        u32 open = lane_id() < width && word < words ? l.open(word) : 0;
        for (u32 some = fours(open); some || (over && held);) {
            if (some) {
                u32 row, bits;
                take_quad(u32(word), open, some, row, bits);
                Looked looked = look_first(l, row, bits);
                u32 hits = looked.hits << lane_id() % QUADS * QUAD;
#pragma unroll
                for (u32 step = 1; step < QUADS; step *= 2) hits |= __shfl_xor_sync(ALL_LANES, hits, step);
                if (hits && lane_id() % QUADS == 0) atomicOr(&l.fresh()[row / 32], hits);
                if (__any_sync(ALL_LANES, looked.rest)) {
#pragma unroll
                    for (u32 k = 0; k < QUAD; ++k) {
                        u32 rest = __ballot_sync(ALL_LANES, looked.rest >> k & 1);
                        if (rest >> lane_id() & 1) list[held + __popc(rest & lanes_below())] = row + k;
                        held += __popc(rest);
                    }
                }
            }
            while (held >= WAITING || (over && held)) look_further(l, list, held);
        }
    }
}
