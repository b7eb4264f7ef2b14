// Backward visits: destinations that are not seen yet look for a parent that is (section IV-B). In a symmetric
// graph a parent that is seen is on the frontier, so `seen` serves for it. Rows ascend, so the first hit is the
// smallest parent. The first two columns of rows lie side by side, and most looks end there; the others wait until a
// warp has enough of them, when each lane tries a few more columns of two, and the warp the rest.

#include "kernels/partition/directions.cuh"

constexpr u32 HEADS = 2;       // columns of a row that lie beside those of others
constexpr u32 TRIES = 4;       // columns that a lane has under way at once, after these
constexpr u32 WAITING = 64;    // rows of a warp that are read at once, two by each lane
constexpr u32 LOOKS = WORDS_AT_ONCE < 4 ? WORDS_AT_ONCE : 4;  // words whose first columns are under way at once
constexpr u32 MOST_WARPS = 16;
constexpr u32 HUB_WORDS = 4096;  // of the delegates' bitmap, in shared memory

#if !ENCODED  // that of encoded rows is in encoded.cuh

// The rest of two rows of each lane, behind the first columns; those that do not look have NONE for a row.
__device__ __forceinline__ void later_seen(const u32 (&row)[2], const OFFSET* offsets, Columns<u32> columns,
                                           const Bitmap& seen, u32 (&hit)[2]) {
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
            if (column[k][i] != NONE && seen.test(column[k][i])) hit[k] = column[k][i];
        u32 open = __ballot_sync(ALL_LANES, hit[k] == NONE && at[k] + TRIES < end[k]);
        while (open) {
            u32 lane = __ffs(open) - 1, result = NONE;
            open &= open - 1;
            OFFSET last = __shfl_sync(ALL_LANES, end[k], lane);
            for (OFFSET i = __shfl_sync(ALL_LANES, at[k], lane) + TRIES; i < last && result == NONE; i += WARP) {
                u32 next = i + lane_id() < last ? columns[i + lane_id()] : NONE;
                u32 hits = __ballot_sync(ALL_LANES, next != NONE && seen.test(next));
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
__device__ __forceinline__ void look_further(const Looking& l, const Bitmap& seen, u32* list, u32& held) {
    u32 count = held < WAITING ? held : WAITING, row[2], parent[2];
    held -= count;
    __syncwarp();
#pragma unroll
    for (u32 k = 0; k < 2; ++k) row[k] = lane_id() + k * WARP < count ? list[held + lane_id() + k * WARP] : NONE;
    __syncwarp();
    later_seen(row, l.offsets(), l.columns(), seen, parent);
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

// Rows with further columns than the first two, of which none was seen, wait until there are enough of them, or no more.
// Where many look for few delegates, `hubs_first`, these are in shared memory; whole blocks call it.
__device__ __forceinline__ void look(const World& w, const Rank& r, Subgraph visit, u32* found, bool hubs_first) {
    __shared__ u32 hubs[HUB_WORDS];
    const Looking l{w, r, visit, found};
    Bitmap seen{l.seen(), hubs, 0};
    if (hubs_first && visit != ND) {
        seen.hub_words = w.words < HUB_WORDS ? u32(w.words) : HUB_WORDS;
        __syncthreads();
        for (u32 i = threadIdx.x; i < seen.hub_words; i += blockDim.x) hubs[i] = seen.words[i];
        __syncthreads();
    }
    u32* list = waiting_rows();
    u64 words = l.words(), stride = global_threads() / WARP;
    u32 width = words_at_once(words), held = 0;
    for (u64 first = global_thread() / WARP * width; first < words; first += stride * width) {
        u64 word = first + lane_id();
        u32 bits = lane_id() < width && word < words ? l.mask()[word] & ~l.own()[word] : 0;
        // A tree takes the smallest parent of all subgraphs, distances any.
        if (!TREE && bits) bits &= ~*reinterpret_cast<volatile u32*>(&l.fresh()[word]);
        bool last = first + stride * width >= words;
        for (u32 some = __ballot_sync(ALL_LANES, bits != 0); some || (last && held);) {
            u32 row[LOOKS], parent[LOOKS];
            uint2 head[LOOKS];
            bool looks[LOOKS];
            take_words(first, bits, some, row, looks);
#pragma unroll
            for (u32 k = 0; k < LOOKS; ++k) head[k] = !ENCODED && looks[k] ? l.heads()[row[k]] : make_uint2(NONE, NONE);
#pragma unroll
            for (u32 k = 0; k < LOOKS; ++k) {
                // Both are read at once: a branch would let one wait for the other.
                u32 one = head[k].x == NONE ? 0 : head[k].x, two = head[k].y == NONE ? 0 : head[k].y;
                bool first_seen = seen.test(one) & (head[k].x != NONE), second_seen = seen.test(two);
                parent[k] = first_seen ? one : second_seen ? head[k].y : NONE;
            }
#pragma unroll
            for (u32 k = 0; k < LOOKS; ++k) {
                bool hit = parent[k] != NONE;
                u32 hits = __ballot_sync(ALL_LANES, hit);
                u32 rest = __ballot_sync(ALL_LANES, looks[k] && !hit && (ENCODED || head[k].y != NONE));
                if (hits && lane_id() == 0) atomicOr(&l.fresh()[row[k] / 32], hits);
                if (rest >> lane_id() & 1) list[held + __popc(rest & lanes_below())] = row[k];
                held += __popc(rest);
                if (TREE && hit) lower_key(&l.keys()[row[k]], l.vertex(parent[k]));
            }
            while (held >= WAITING || (last && !some && held)) look_further(l, seen, list, held);
        }
    }
}
