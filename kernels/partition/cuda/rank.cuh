// One rank of a partition in device memory, and how its vertices and delegates are claimed.
//
// A normal vertex goes by its compact id among those of the rank that have arcs, which in a Kronecker graph are about half, and
// nn and dn columns name compact ids too (kernels/partition/cuda/compact_ids.py). Distances and predecessors lie where vertices do.
//
// `seen` is frozen while a level is visited: what is found goes to `reached` (normal vertices here, with those that
// are seen) and `found` (delegates, reduced over all ranks), and becomes the frontier, `front`, between two barriers.
//
// A key is a candidate for a predecessor. With TREE == SMALLEST it is a delegate's vertex, or a normal one with
// NORMAL_CLASS, so that the smallest key is the smallest delegate where there is one (see
// kernels/partition/rank_search.py); delegates take any smallest vertex. With TREE == ANY it is whichever vertex was
// found, so that nobody searches for another, and finding one is a store.

#include "kernels/cuda/types.cuh"
#include "kernels/partition/cuda/placed.cuh"

#ifndef CULLED
#define CULLED 0
#endif

constexpr u32 SMALLEST = 1, ANY = 2;  // of TREE, which is 0 where distances alone are asked for
template <bool NARROW>
struct KeyOf {
    typedef u64 type;
};
template <>
struct KeyOf<true> {
    typedef VERTEX type;
};
typedef KeyOf<TREE == ANY>::type Key;
constexpr u64 NORMAL_CLASS = 1ull << 62;
constexpr Key NO_KEY = ~Key(0);
constexpr u32 NONE = ~0u;
constexpr u32 MERGE_BITS = 36;  // of DN_TAIL and DD_TAIL: arcs; above them rows, so that rows and their first arcs agree
constexpr u64 MERGE_ARCS = (1ull << MERGE_BITS) - 1;

// Counters of a level, in SIDES copies: those of level l are filled before it, read in it, zeroed after it.
enum Count : u32 {
    N_NEW, ND_ROWS, ND_ARCS, NN_ROWS, D_NEW, DN_ROWS, DN_ARCS, DD_ROWS, DD_ARCS, ARRIVED,
    // Of the queues: that of nn is filled with the counts, if at all, the others when directions are known.
    NN_TAIL, ND_TAIL, DN_TAIL, DD_TAIL,
    COUNTS = 16
};
constexpr u32 SIDES = 3;

// Where the counters of a level begin; levels are fewer than 32 bits have numbers.
__device__ __forceinline__ u32 side_of(u64 level) { return u32(level) % SIDES * COUNTS; }

// Arcs of a lane, and words of a warp, under way at once: a visit is chains of loads, not arithmetic, but registers are
// few (docs/tuning.md). Reading over a link is bound by the link.
constexpr u32 BATCH = 2, WORDS_AT_ONCE = PLACED ? 2 : 4;

// Of the bytes with the lengths of normal vertices' rows: this long and longer ones are in the offsets.
constexpr u32 LONG_ROW = 255;

// The fields, in this order, are in kernels/partition/cuda/memory.py too; each takes 8 bytes. Those above
// `rank` are valid for every rank, as peer pointers; the rest only for ranks of this device.
struct Rank {
    u32* found;           // (2, words), of even and odd levels
    u64* counts;          // (SIDES, COUNTS)
    u32* front;           // (local_words)
    Key* delegate_keys;   // (delegates), if TREE
    const u64* bin_start;  // (ranks + 1)
    u64* bin_tail;        // (ranks)
    u32* bin_ids;
    u32* bin_tails;       // if TREE: local tails of the arcs
    // What is listed for other groups, for kernels/partition/cuda/ranks_staged.cu alone: where the list for each begins and ends,
    // ids there, and if TREE the vertices at the tails.
    const u64* relay_start;
    u64* relay_tail;
    u32* relay_ids;
    VERTEX* relay_tails;
    u64 rank;
    const OFFSET *nn_offsets, *nd_offsets, *dn_offsets, *dd_offsets;
    Columns<VERTEX> nn_columns;
    const VERTEX* nn_vertices;  // the same as vertices, if ANY; null where compact ids are vertices
    const u32* nn_owners;  // rows of nn arcs, or null
    Columns<u32> nd_columns, dn_columns, dd_columns;
    const u32 *nn_mask, *nd_mask, *dn_mask, *dd_mask;  // rows that are not empty
    const u32 *nd_longer, *dn_longer, *dd_longer;  // those with more than their first columns, unless ENCODED
    const u32 *nd_first, *dn_first, *dd_first;  // (rows, FIRST) the first columns of each, unless ENCODED; for none the bit after all
    const u8* nd_lengths;                       // (local) up to LONG_ROW
    const u32* delegate_lengths;                // (delegates, 2) of dn and dd
    const u32* own_delegates;                   // (words) those that are vertices of this rank; null where nobody asks
    const u32* id_mask;                 // (own_words) local vertices with compact ids
    const u32* tile_ids;                // (tiles + 1) how many come before each tile, see labels.cuh
    const u32* locals;                    // (local) the local vertex of each compact id; null where all have one
    const u32 *own_places, *own_numbers;  // compact ids of vertices that are delegates, ascending, and their numbers
    const u32* own_tiles;                 // (tiles + 1) how many of them come before each tile
    i32 *distance, *delegate_distance;  // of delegates only for ranks that send
    u32* planes;          // (PLANES, local_words) and
    u8* delegate_depths;  // (delegates): labels while levels are gone through, see labels.cuh
    Key* predecessors;    // (own), if ANY; with SMALLEST they are the keys
    Key* keys;            // (local), if TREE
    const Key* expected;  // (local) the vertex of the first delegate nearby, if ANY: what most keys become
    u32* classed;         // (local_words) whose keys have a class, maybe; if SMALLEST, null where keys are gone through anyway
    u32 *seen, *reached, *delegates_seen, *delegates_front;  // both `seen` with a word more, which stays empty
    u32* fronts;          // (ranks, words of a rank) `front` of others, for nn backward
    u32 *nn_queue, *nd_queue;  // (local) the frontier's normal vertices with such arcs
    u32* dn_queue;
    u64* dn_starts;       // first arcs of the rows in dn_queue, counted over all of them
    u32* dd_queue;
    u64* dd_starts;
    u32* sent;            // (ranks, words of a rank) what was sent to each rank already, or null
    u64* came;            // (2, ranks) how far each rank's bin was read, of even and odd levels
    u32* relay_sent;      // (groups, words of a rank) what was listed already, or null
    u64* relay_taken;     // (2, ranks) how far mates' bins for other groups were read
    u64 local, local_words, own, own_words;  // compact ids, and vertices
    u64 sent_words;
    u64 nd_source_count, dn_filled, dd_filled;
};

struct World {
    const Rank* ranks;
    const u64* here;  // ranks of this device
    const VERTEX* delegates;
    u64 here_count, rank_count;
    u64 delegate_count, words;  // 32-bit words of a mask, a multiple of 2
};

// Shared memory of a warp that is anybody's between barriers.
constexpr u32 MAX_WARPS = 16, WORDS_OF_WARP = CULLED ? 320 : 272;
__device__ __forceinline__ u32* words_of_warp() {
    alignas(CULLED ? 8 : 4) __shared__ u32 words[MAX_WARPS][WORDS_OF_WARP];
    return words[warp_id()];
}

// Lengths of a delegate's dn and dd rows.
__device__ __forceinline__ uint2 lengths_of(const Rank& r, u32 d) { return reinterpret_cast<const uint2*>(r.delegate_lengths)[d]; }

// The local vertex of a compact id, and the vertex.
constexpr bool HAS_COMPACT_IDS = TREE != SMALLEST && !PLACED && !ENCODED;
__device__ __forceinline__ u32 local_of(const Rank& r, u32 id) { return HAS_COMPACT_IDS && r.locals ? r.locals[id] : id; }
__device__ __forceinline__ u64 vertex_of(const Rank& r, u32 id, u64 ranks) { return u64(local_of(r, id)) * ranks + r.rank; }

__device__ __forceinline__ bool test_bit(const u32* bitmap, u32 place) { return bitmap[place >> 5] >> (place & 31) & 1; }

// Whether it was not set when this thread read it.
__device__ __forceinline__ bool set_bit(u32* bitmap, u32 place) {
    u32 bit = 1u << (place & 31);
    // Mostly others were here before, and a load is cheaper than an atomic.
    bool open = !(*reinterpret_cast<volatile u32*>(&bitmap[place >> 5]) & bit);
    if (open) atomicOr(&bitmap[place >> 5], bit);
    return open;
}

// Whether this thread alone set it.
__device__ __forceinline__ bool set_once(u32* bitmap, u32 place) {
    u32 bit = 1u << (place & 31);
    u32* word = bitmap + (place >> 5);
    return !(*reinterpret_cast<volatile u32*>(word) & bit) && !(atomicOr(word, bit) & bit);
}

__device__ __forceinline__ void lower_key(Key* key, Key value) {
    if (*reinterpret_cast<volatile Key*>(key) > value) atomicMin(key, value);
}

// What a visit reaches: vertices that are not `seen` are marked in `newly`, and `keys` get `key(k)`, or are lowered to it.
// Where `newly` has the seen ones too, only who lowers keys asks for `seen`, since it is another access to a large bitmap.
template <bool REACHED_HAS_SEEN, u32 N, class Found>
__device__ __forceinline__ void claim(const u32* seen, u32* newly, Key* keys, const bool (&live)[N], const u32 (&place)[N],
                                      const Found& key) {
    // Then an atomic whose result nobody waits for does without the load that it would save.
    constexpr bool ASKS = TREE || !REACHED_HAS_SEEN;
    bool open[N];
    u32 word[N];
#pragma unroll
    for (u32 k = 0; k < N; ++k) open[k] = live[k] && ((REACHED_HAS_SEEN && TREE != SMALLEST) || !test_bit(seen, place[k]));
#pragma unroll
    for (u32 k = 0; k < N; ++k) word[k] = !open[k] ? ~0u : ASKS ? *reinterpret_cast<volatile u32*>(&newly[place[k] >> 5]) : 0;
#pragma unroll
    for (u32 k = 0; k < N; ++k) {
        u32 bit = 1u << (place[k] & 31);
        if (word[k] & bit) continue;
        atomicOr(&newly[place[k] >> 5], bit);
        if (TREE == ANY) keys[place[k]] = Key(key(k));
    }
    if (TREE != SMALLEST) return;
#pragma unroll
    for (u32 k = 0; k < N; ++k)
        if (open[k]) lower_key(&keys[place[k]], Key(key(k)));
}

// The key of a normal vertex.
__device__ __forceinline__ u64 normal_key(u64 vertex) { return TREE == SMALLEST ? NORMAL_CLASS | vertex : vertex; }

// A vertex whose key gets a class.
__device__ __forceinline__ void note_class(const Rank& r, u32 local) {
    if (TREE == SMALLEST && r.classed) set_bit(r.classed, local);
}

__device__ __forceinline__ void claim_normal(const Rank& r, u32 local, u64 key) {
    const bool live[1] = {true};
    const u32 place[1] = {local};
    claim<true>(r.seen, r.reached, r.keys, live, place, [&](u32) { return key; });
}

__device__ __forceinline__ void claim_delegate(const Rank& r, u32* found, u32 d, u64 vertex) {
    const bool live[1] = {true};
    const u32 place[1] = {d};
    claim<false>(r.delegates_seen, found, r.delegate_keys, live, place, [&](u32) { return vertex; });
}

// Words of a bitmap that a warp takes at once: its share of them, so that there is one round if that is no more than
// a word for each lane, or one more than that: all warps ask, before each pass.
__device__ __forceinline__ u32 words_at_once(u64 words) {
    u32 warps = u32(global_threads() / WARP), share = u32(__fdividef(float(u32(words)), float(warps))) + 1;
    return share < WARP ? share : WARP;
}

// Call `each(own, live)` for words that are assigned round-robin to the warps, ASSIGNED of them at a time, until all are: delegates of like
// length have like numbers, and of few that are found most are among the first. Whole warps call it.
constexpr u32 ASSIGNED = 4;
template <class Each>
__device__ __forceinline__ void assign_words(u64 words, const Each& each) {
    u32 sectors = (words_at_once(words) + ASSIGNED - 1) / ASSIGNED, warps = u32(global_threads() / WARP);
    for (u32 first = u32(global_thread() / WARP); first * ASSIGNED < words; first += warps * sectors) {
        u32 own = (first + lane_id() / ASSIGNED * warps) * ASSIGNED + lane_id() % ASSIGNED;
        each(own, lane_id() < sectors * ASSIGNED && own < words);
    }
}

// Take N of a warp's words that have bits, which `some` says, a bit of each for every lane. The word that a lane holds has
// number `own`.
template <u32 N>
__device__ __forceinline__ void take_words(u32 own, u32 word, u32& some, u32 (&place)[N], bool (&mine)[N]) {
#pragma unroll
    for (u32 k = 0; k < N; ++k) {
        u32 from = some ? __ffs(some) - 1 : 0, bits = __shfl_sync(ALL_LANES, word, from);
        mine[k] = some && bits >> lane_id() & 1;
        place[k] = __shfl_sync(ALL_LANES, own, from) * 32 + lane_id();
        some &= some - 1;
    }
}

// Call `act(place, mine)` for the bits of a warp's words.
template <class Act>
__device__ __forceinline__ void each_bit(u32 own, u32 word, const Act& act) {
    for (u32 some = __ballot_sync(ALL_LANES, word != 0); some;) {
        u32 place[WORDS_AT_ONCE];
        bool mine[WORDS_AT_ONCE];
        take_words(own, word, some, place, mine);
        act(place, mine);
    }
}

constexpr u32 QUAD = 4;  // places of a lane at once, whose bytes are a word

// Bytes of `value` for the bits of a quad.
__device__ __forceinline__ u32 spread(u32 bits, u32 value = 0xFF) { return (bits * 0x00204081u & 0x01010101u) * value; }

__device__ __forceinline__ u32 sum_bytes(u32 bytes, u32 before) { return __dp4a(bytes, 0x01010101u, before); }

__device__ __forceinline__ bool any_full_byte(u32 bytes) { return (~bytes - 0x01010101u) & bytes & 0x80808080u; }

constexpr u32 QUADS = WARP / QUAD;  // of a word

// Of a warp's words the fours that have bits, a bit each.
__device__ __forceinline__ u32 fours(u32 word) {
    u32 some = __ballot_sync(ALL_LANES, word != 0);
    return (some | some >> 1 | some >> 2 | some >> 3) & 0x11111111u;
}

// Take four of a warp's words, which `some` says, a quad of them for every lane: its bits, and the place of the first.
// The word that a lane holds has number `own`.
__device__ __forceinline__ void take_quad(u32 own, u32 word, u32& some, u32& place, u32& bits) {
    u32 from = (some ? __ffs(some) - 1 : 0) + lane_id() / QUADS, mine = __shfl_sync(ALL_LANES, word, from);
    bits = some ? mine >> lane_id() % QUADS * QUAD & 15 : 0;
    place = __shfl_sync(ALL_LANES, own, from) * WARP + lane_id() % QUADS * QUAD;
    some &= some - 1;
}

// Arrays begin at multiples of 16 bytes.
template <class T>
__device__ __forceinline__ void fill(T* values, u64 count, T value) {
    constexpr u32 ROW = 16 / sizeof(T);
    struct alignas(16) Row {
        T values[ROW];
    } row;
#pragma unroll
    for (u32 k = 0; k < ROW; ++k) row.values[k] = value;
    for (u64 i = global_thread(); i < count / ROW; i += global_threads()) reinterpret_cast<Row*>(values)[i] = row;
    if (u64 i = count / ROW * ROW + global_thread(); i < count) values[i] = value;
}

// The same from another array.
template <class T>
__device__ __forceinline__ void copy(T* to, const T* from, u64 count) {
    constexpr u32 ROW = 16 / sizeof(T), AT_ONCE = 4;
    u64 rows = count / ROW;
    for (u64 base = global_thread(); base < rows; base += AT_ONCE * global_threads()) {
        uint4 row[AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) {
            u64 i = base + k * global_threads();
            if (i < rows) row[k] = reinterpret_cast<const uint4*>(from)[i];
        }
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) {
            u64 i = base + k * global_threads();
            if (i < rows) reinterpret_cast<uint4*>(to)[i] = row[k];
        }
    }
    for (u64 i = rows * ROW + global_thread(); i < count; i += global_threads()) to[i] = from[i];
}

// Fill with one value, but for another at one place; none has number ~0.
template <class T>
__device__ __forceinline__ void fill_but(T* values, u64 count, T value, u64 place, T other) {
    constexpr u32 ROW = 16 / sizeof(T);
    fill(values, count, value);
    // The thread that has written there writes again.
    if (place == ~0ull) return;
    u64 rows = count / ROW, writer = place / ROW < rows ? place / ROW : place - rows * ROW;
    if (u32(writer) % u32(global_threads()) == u32(global_thread())) values[place] = other;
}
