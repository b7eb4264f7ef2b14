// Pull, the paper's backward visit: unvisited destinations check their neighbours for a parent that is seen (section
// IV-B). In a symmetric graph a parent that is seen is on the frontier, so `seen` serves for it. Rows ascend, so the
// first hit is the smallest parent. First neighbours lie side by side, and most rows end there; the others are deferred
// until a warp has enough of them. Then each lane tries a few columns of two rows at a time, and groups of lanes go on
// with the few that are left. docs/tuning.md has what supports the constants.

#include "kernels/partition/cuda/directions.cuh"

// First neighbours of a row that lie beside those of others. Over a link what comes later is dear.
constexpr u32 FIRST = PLACED ? 2 : 1;
constexpr u32 TRIES = 4;      // columns that a lane has under way at once, after these
constexpr u32 WAITING = 64;   // rows of a warp that are read at once, two by each lane
constexpr u32 FEW_OPEN = 16;  // of these, up to which groups of lanes go on with them

#if !ENCODED  // that of encoded rows is in encoded.cuh

// One lane's rows: up to which columns they were checked, and what was found.
struct Later {
    OFFSET at[2], end[2];
    u32 hit[2];

    __device__ __forceinline__ bool open(u32 k) const { return hit[k] == NONE && at[k] < end[k]; }
};

// Few rows are open, a bit of `open` each, for the first and the second of each lane: a team of lanes goes on with each
// until half of them are over, so that none is left to wait for one long row alone.
__device__ __forceinline__ void pull_in_groups(Later& l, const u32 (&open)[2], Columns<u32> columns, const u32* seen) {
    u32 rows = __popc(open[0]) + __popc(open[1]), width = rows > 8 ? 2 : rows > 4 ? 4 : rows > 2 ? 8 : rows > 1 ? 16 : 32;
    u32 team = lane_id() / width, within = lane_id() % width, result = NONE, teams;
    u64 left = u64(open[1]) << WARP | open[0];
    for (u32 i = 0; i < team; ++i) left &= left - 1;
    u32 from = left ? __ffsll(left) - 1 : 0;
    OFFSET first_at = __shfl_sync(ALL_LANES, l.at[0], from % WARP), second_at = __shfl_sync(ALL_LANES, l.at[1], from % WARP);
    OFFSET first_end = __shfl_sync(ALL_LANES, l.end[0], from % WARP), second_end = __shfl_sync(ALL_LANES, l.end[1], from % WARP);
    OFFSET at = from < WARP ? first_at : second_at, end = !left ? at : from < WARP ? first_end : second_end;
    do {
        u32 column[TRIES], place = NONE, mine = NONE;
#pragma unroll
        for (u32 i = 0; i < TRIES; ++i) {
            OFFSET of = at + i * width + within;
            column[i] = result == NONE && of < end ? columns[of] : NONE;
        }
#pragma unroll
        for (u32 i = TRIES; i-- > 0;)
            if (column[i] != NONE && test_bit(seen, column[i])) mine = column[i], place = i * width + within;
        for (u32 step = 1; step < width; step *= 2) {
            u32 other = __shfl_xor_sync(ALL_LANES, place, step), its = __shfl_xor_sync(ALL_LANES, mine, step);
            if (other < place) place = other, mine = its;
        }
        if (result == NONE) result = mine;
        at += TRIES * width;
        teams = __ballot_sync(ALL_LANES, within == 0 && result == NONE && at < end);
    } while (2 * __popc(teams) > rows);
#pragma unroll
    for (u32 k = 0; k < 2; ++k) {
        u32 own = ((k ? __popc(open[0]) : 0) + __popc(open[k] & lanes_below())) * width;
        u32 found = __shfl_sync(ALL_LANES, result, own % WARP);
        OFFSET upto = __shfl_sync(ALL_LANES, at, own % WARP);
        if (open[k] >> lane_id() & 1) l.hit[k] = found, l.at[k] = upto;
    }
}

// The rest of two rows of each lane, behind the first columns; those that are not asked for have NONE for a row.
__device__ __forceinline__ void later_seen(const u32 (&row)[2], const OFFSET* offsets, Columns<u32> columns,
                                           const u32* seen, u32 (&hit)[2]) {
    Later l;
#pragma unroll
    for (u32 k = 0; k < 2; ++k) {
        l.at[k] = row[k] == NONE ? 0 : offsets[row[k]] + FIRST;
        l.end[k] = row[k] == NONE ? 0 : offsets[row[k] + 1];
        l.hit[k] = NONE;
    }
    u32 open[2];
    do {
        u32 column[2][TRIES];
#pragma unroll
        for (u32 k = 0; k < 2; ++k)
#pragma unroll
            for (u32 i = 0; i < TRIES; ++i)
                column[k][i] = l.hit[k] == NONE && l.at[k] + i < l.end[k] ? columns[l.at[k] + i] : NONE;
#pragma unroll
        for (u32 k = 0; k < 2; ++k) {
#pragma unroll
            for (u32 i = TRIES; i-- > 0;)
                if (column[k][i] != NONE && test_bit(seen, column[k][i])) l.hit[k] = column[k][i];
            l.at[k] += TRIES;
            open[k] = __ballot_sync(ALL_LANES, l.open(k));
        }
    } while (__popc(open[0]) + __popc(open[1]) > FEW_OPEN);
    while (open[0] | open[1]) {
        pull_in_groups(l, open, columns, seen);
#pragma unroll
        for (u32 k = 0; k < 2; ++k) open[k] = __ballot_sync(ALL_LANES, l.open(k));
    }
    hit[0] = l.hit[0], hit[1] = l.hit[1];
}

#endif

// The delegates that pull along dd rows. The owner of one has its arcs to delegates of higher degree, and finds a parent
// soon; others have the rest of them, mostly in vain, so they pull later and leave out what the owner has found.
enum Pullers : u32 { ALL, OWN, OTHERS };

// One of the three visits: what pulls are rows of `mask` whose own bit is not in `own`, and unless the
// smallest parent is asked for, not in `newly`. Its fields are chosen where they are used: one function for three visits is
// compiled once, and holds no pointer longer than it needs it.
struct Pull {
    const World& w;
    const Rank& r;
    Subgraph visit;  // ND: delegates along dn rows; DN: normal vertices along nd rows; DD
    Pullers pullers;
    u32* found;

    __device__ __forceinline__ bool normals() const { return visit == DN; }
    __device__ __forceinline__ const u32* mask() const { return visit == DD ? r.dd_mask : visit == ND ? r.dn_mask : r.nd_mask; }
    __device__ __forceinline__ const u32* longer() const { return visit == DD ? r.dd_longer : visit == ND ? r.dn_longer : r.nd_longer; }
    __device__ __forceinline__ const u32* own() const { return normals() ? r.seen : r.delegates_seen; }
    __device__ __forceinline__ const u32* seen() const { return visit == ND ? r.seen : r.delegates_seen; }
    __device__ __forceinline__ u32* newly() const { return normals() ? r.reached : found; }
    // Of a word's rows those that pull.
    __device__ __forceinline__ u32 open(u64 word) const {
        u32 rows = mask()[word] & ~own()[word];
        // The smallest parent may be in any subgraph.
        if (TREE == SMALLEST || !rows) return rows;
        if (pullers == OWN) rows &= r.own_delegates[word];
        if (pullers == OTHERS) rows &= ~r.own_delegates[word];
        if (rows) rows &= ~*reinterpret_cast<volatile u32*>(&newly()[word]);
        // What others have found by now is one row less, and what they find later is found twice.
        bool asks = r.own_delegates && (visit == ND || pullers == OTHERS);
        for (u32 from = 0; asks && rows && from < w.rank_count; ++from)
            if (from != r.rank) rows &= ~__ldcv(&w.ranks[from].found[found - r.found + word]);
        return rows;
    }
    __device__ __forceinline__ u64 words() const { return normals() ? r.local_words : w.words; }
    // A quad has FIRST of them.
    __device__ __forceinline__ const uint4* firsts() const {
        return reinterpret_cast<const uint4*>(visit == DD ? r.dd_first : visit == ND ? r.dn_first : r.nd_first);
    }
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
        return visit == ND ? vertex_of(r, parent, w.rank_count) : u64(w.delegates[parent]);
    }
};

// Check the deferred rows, WAITING at most, and take them off the list.
__device__ __forceinline__ void pull_further(const Pull& l, u32* list, u32& held) {
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
        atomicOr(&l.newly()[row[k] / 32], 1u << (row[k] & 31));
        if (TREE) l.keep(row[k], parent[k]);
    }
}

// The rows of this warp that wait: fewer than WAITING, and those that lanes add, QUAD at most each.
__device__ __forceinline__ u32* waiting_rows() {
    static_assert(WAITING + QUAD * WARP <= WORDS_OF_WARP, "rows that wait lie in shared memory");
    return words_of_warp();
}

// Add the first rows of each lane's word to the list, and take them out of `rest`.
__device__ __forceinline__ void take_rows(u32* list, u32& held, u32 word, u32& rest) {
    u32 own = __popc(rest), added = own < QUAD ? own : QUAD, upto = warp_inclusive_sum(added), at = held + upto - added;
    for (; added; --added, rest &= rest - 1) list[at++] = word * 32 + __ffs(rest) - 1;
    held += __shfl_sync(ALL_LANES, upto, WARP - 1);
}

// Quads of each lane whose first columns are under way at once.
constexpr u32 QUADS_AT_ONCE = PLACED ? 1 : 2;

// Of a warp's words, of which each lane has one, the rows that find a parent in their first columns. A word is as many
// quads, of as many lanes.
__device__ __forceinline__ u32 pull_first(const Pull& l, u32 word, u32 open) {
    u32 hits = 0;
    for (u32 some = fours(open); some;) {
        u32 row[QUADS_AT_ONCE], bits[QUADS_AT_ONCE], first[QUADS_AT_ONCE], column[QUADS_AT_ONCE][QUAD * FIRST];
        u32 seen[QUADS_AT_ONCE][QUAD * FIRST];
#pragma unroll
        for (u32 q = 0; q < QUADS_AT_ONCE; ++q) {
            first[q] = some ? __ffs(some) - 1 : WARP;
            take_quad(word, open, some, row[q], bits[q]);
#pragma unroll
            for (u32 i = 0; i < FIRST; ++i) {
                // If L1 kept them, it would lose the bits that are looked up.
                uint4 heads = bits[q] ? __ldcs(&l.firsts()[row[q] / QUAD * FIRST + i]) : make_uint4(0, 0, 0, 0);
                column[q][4 * i] = heads.x, column[q][4 * i + 1] = heads.y;
                column[q][4 * i + 2] = heads.z, column[q][4 * i + 3] = heads.w;
            }
        }
        // All are read at once: a branch would let one wait for the other.
#pragma unroll
        for (u32 q = 0; q < QUADS_AT_ONCE; ++q)
#pragma unroll
            for (u32 i = 0; i < QUAD * FIRST; ++i)
                seen[q][i] = bits[q] >> i / FIRST & 1 ? l.seen()[column[q][i] / 32] >> (column[q][i] & 31) & 1 : 0;
#pragma unroll
        for (u32 q = 0; q < QUADS_AT_ONCE; ++q) {
            u32 found = 0;
#pragma unroll
            for (u32 k = 0; k < QUAD; ++k) {
                bool hit = false;
#pragma unroll
                for (u32 i = FIRST; i-- > 0;) {
                    u32 at = k * FIRST + i;
                    if (!seen[q][at]) continue;
                    hit = true;
                    // The first column's vertex is what is expected of a normal vertex.
                    bool expected = TREE == ANY && i == 0 && l.normals();
                    if (TREE && !expected && (i == 0 || !seen[q][k * FIRST])) l.keep(row[q] + k, column[q][at]);
                }
                found |= u32(hit) << k;
            }
            found <<= lane_id() % QUADS * QUAD;
#pragma unroll
            for (u32 step = 1; step < QUADS; step *= 2) found |= __shfl_xor_sync(ALL_LANES, found, step);
            // These four words are those of four lanes side by side.
            found = __shfl_sync(ALL_LANES, found, lane_id() % QUAD * QUADS);
            if (lane_id() / QUAD * QUAD == first[q]) hits |= found;
        }
    }
    return hits;
}

// Rows with further columns than the first, of which none was seen, wait until there are enough of them, or no more.
__device__ __forceinline__ void pull(const World& w, const Rank& r, Subgraph visit, Pullers pullers, u32* found) {
    const Pull l{w, r, visit, pullers, found};
    u32* list = waiting_rows();
    u32 words = u32(l.words()), warps = u32(global_threads() / WARP), warp = u32(global_thread() / WARP);
    u32 width = words_at_once(words), held = 0;
    bool over = false;
    for (u32 round = 0; !over; ++round) {
        // Delegates of like length have like numbers, so their words are assigned round-robin to all warps.
        u32 word = l.normals() ? (round * warps + warp) * width + lane_id() : (round * width + lane_id()) * warps + warp;
        over = __shfl_sync(ALL_LANES, word, 0) >= words;
        u32 open = lane_id() < width && word < words ? l.open(word) : 0, hits = ENCODED ? 0 : pull_first(l, word, open);
        if (hits) atomicOr(&l.newly()[word], hits);
        u32 rest = open & ~hits;
        // Most that do not find their first column have no other, and would read offsets to learn that.
        if (!ENCODED && rest) rest &= l.longer()[word];
        do {
            take_rows(list, held, word, rest);
            while (held >= WAITING || (over && held)) pull_further(l, list, held);
        } while (__any_sync(ALL_LANES, rest));
    }
}
