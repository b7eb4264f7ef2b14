// Backward visits: destinations that are not seen yet look for a parent that is (section IV-B). In a symmetric
// graph a parent that is seen is on the frontier, so `seen` serves for it. Rows ascend, so the first hit is the
// smallest parent. The first two columns of rows lie side by side, and most looks end there; the others wait until a
// warp has enough of them, when each lane tries a few more columns of two, and the warp the rest.

#include "kernels/partition/directions.cuh"
#include "kernels/partition/reserve.cuh"

constexpr u32 HEADS = 2;       // columns of a row that lie beside those of others
constexpr u32 TRIES = 4;       // columns that a lane has under way at once, after these
constexpr u32 WAITING = 64;    // rows of a warp that are read at once, two by each lane
constexpr u32 LOOKS = WORDS_AT_ONCE < 4 ? WORDS_AT_ONCE : 4;  // words whose first columns are under way at once

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

// One of the three visits: what looks for parents are rows of `mask` whose own bit is not in `own`, and if no tree is
// asked for, not in `fresh`. Its fields are chosen where they are used: one function for three visits is compiled
// once, and holds no pointer longer than it needs it.
struct Looking {
    const World& w;
    const Rank& r;
    Subgraph visit;  // ND: delegates along dn rows; DN: normal vertices along nd rows; DD
    u32* found;

    __device__ __forceinline__ bool normals() const { return visit == DN; }
    __device__ __forceinline__ const u32* mask() const { return visit == DD ? r.dd_mask : visit == ND ? r.dn_mask : r.nd_mask; }
    __device__ __forceinline__ const u32* own() const { return normals() ? r.seen : r.delegates_seen; }
    __device__ __forceinline__ const u32* seen() const { return visit == ND ? r.seen : r.delegates_seen; }
    __device__ __forceinline__ u32* fresh() const { return normals() ? r.reached : found; }
    __device__ __forceinline__ u64* keys() const { return normals() ? r.keys : r.delegate_keys; }
    __device__ __forceinline__ u64 words() const { return normals() ? r.local_words : w.words; }
    __device__ __forceinline__ const uint2* heads() const {
        return reinterpret_cast<const uint2*>(visit == DD ? r.dd_heads : visit == ND ? r.dn_heads : r.nd_heads);
    }
    __device__ __forceinline__ const OFFSET* offsets() const {
        return visit == DD ? r.dd_offsets : visit == ND ? r.dn_offsets : r.nd_offsets;
    }
    __device__ __forceinline__ Columns<u32> columns() const {
        return visit == DD ? r.dd_columns : visit == ND ? r.dn_columns : r.nd_columns;
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
        if (TREE) lower_key(&l.keys()[row[k]], l.vertex(parent[k]));
    }
}

// The rows of this warp that wait.
__device__ __forceinline__ u32* waiting_rows() {
    __shared__ u32 rows[MOST_WARPS][WAITING + LOOKS * WARP];
    return rows[warp_id()];
}

// Rows of a warp's words whose first columns are under way.
struct Heads {
    u32 row[LOOKS];
    uint2 columns[LOOKS];
    bool looks[LOOKS];
};

__device__ __forceinline__ void fetch(const Looking& l, Heads& h, u64 first, u32 bits, u32& some) {
    take_words(first, bits, some, h.row, h.looks);
#pragma unroll
    for (u32 k = 0; k < LOOKS; ++k) h.columns[k] = !ENCODED && h.looks[k] ? l.heads()[h.row[k]] : make_uint2(NONE, NONE);
}

// Take in the first columns, and list the rows that have others.
__device__ __forceinline__ void look_first(const Looking& l, const Heads& h, u32* list, u32& held) {
    u32 parent[LOOKS];
#pragma unroll
    for (u32 k = 0; k < LOOKS; ++k) {
        uint2 head = h.columns[k];
        // Both are read at once: a branch would let one wait for the other.
        u32 one = head.x == NONE ? 0 : head.x, two = head.y == NONE ? 0 : head.y;
        bool first_seen = test_bit(l.seen(), one) & (head.x != NONE), second_seen = test_bit(l.seen(), two);
        parent[k] = first_seen ? one : second_seen ? head.y : NONE;
    }
#pragma unroll
    for (u32 k = 0; k < LOOKS; ++k) {
        bool hit = parent[k] != NONE;
        u32 hits = __ballot_sync(ALL_LANES, hit);
        u32 rest = __ballot_sync(ALL_LANES, h.looks[k] && !hit && (ENCODED || h.columns[k].y != NONE));
        if (hits && lane_id() == 0) atomicOr(&l.fresh()[h.row[k] / 32], hits);
        if (rest >> lane_id() & 1) list[held + __popc(rest & lanes_below())] = h.row[k];
        held += __popc(rest);
        if (TREE && hit) lower_key(&l.keys()[h.row[k]], l.vertex(parent[k]));
    }
}

// Rows with further columns than the first two, of which none was seen, wait until there are enough of them, or no more.
// Words, and the first columns of the next rows, are asked for before those at hand are gone through.
__device__ __noinline__ void look(const World& w, const Rank& r, Subgraph visit, u32* found) {
    const Looking l{w, r, visit, found};
    u32* list = waiting_rows();
    u64 words = l.words();
    u32 width = words_at_once(words), held = 0;
    u64 stride = global_threads() / WARP * width;
    auto open = [&](u64 first) {
        u64 word = first + lane_id();
        if (lane_id() >= width || word >= words) return 0u;
        // A tree takes the smallest parent of all subgraphs, distances any.
        u32 settled = TREE ? 0 : *reinterpret_cast<volatile u32*>(&l.fresh()[word]);
        return l.mask()[word] & ~(l.own()[word] | settled);
    };
    u64 first = global_thread() / WARP * width;
    for (u32 bits = open(first), ahead; first < words; first += stride, bits = ahead) {
        ahead = open(first + stride);
        u32 some = __ballot_sync(ALL_LANES, bits != 0);
        if (!some) continue;
        Heads now;
        fetch(l, now, first, bits, some);
        for (bool more = true; more;) {
            more = some;
            Heads next;
            if (more) fetch(l, next, first, bits, some);
            look_first(l, now, list, held);
            while (held >= WAITING) look_further(l, list, held);
            now = next;
        }
    }
    while (held) look_further(l, list, held);
}
