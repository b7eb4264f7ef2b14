// Labels: a few bits while levels are gone through, and what callers get in the end.

#include "kernels/partition/cuda/rank.cuh"

// Of a depth what is kept until the end: 0 where nothing was reached, then one more than the depth. Labels of the deepest
// levels are written at once, under DEEP. Delegates have bytes. Of normal vertices each binary digit is in a bitmap of its
// own, a plane: a level writes words of those digits that it has, where bytes would be eight times as many, and whole
// labels, of which each level writes some everywhere, would go to memory and back every time.
constexpr u32 DEEP = 255, PLANES = 8;

__device__ __forceinline__ u32 shallow(i32 depth) { return u32(depth) + 1 < DEEP ? u32(depth) + 1 : DEEP; }

// Label the vertices of word `own` that are newly visited. Each word is labelled in every level, and the first that has a digit
// writes all of its plane, which so needs no clearing.
__device__ __forceinline__ void label(const Rank& r, u64 own, u32 newly, i32 depth) {
    u32 code = shallow(depth);
    if (code == DEEP) {
        for (u32 bits = newly; bits; bits &= bits - 1) r.distance[local_of(r, u32(own) * WARP + __ffs(bits) - 1)] = depth;
        return;
    }
    bool opens = !(code & code - 1);  // a plane
    for (u32 rest = code; (newly || opens) && rest; rest &= rest - 1) {
        u32* word = &r.planes[u64(__ffs(rest) - 1) * r.local_words + own];
        if (opens)
            *word = newly;
        else
            atomicOr(word, newly);  // whose result nobody waits for
    }
}

// Label delegates; they lie side by side, and go to where their vertices are in the end.
template <u32 N>
__device__ __forceinline__ void label_delegates(const World& w, const Rank& r, const u32 (&d)[N], const bool (&mine)[N], i32 depth) {
    u32 byte = shallow(depth);
#pragma unroll
    for (u32 k = 0; k < N; ++k)
        if (mine[k]) r.delegate_depths[d[k]] = u8(byte);
    for (u32 k = 0; byte == DEEP && k < N; ++k) {
        VERTEX vertex = mine[k] ? w.delegates[d[k]] : 0, ranks = VERTEX(w.rank_count);
        if (mine[k] && vertex % ranks == r.rank) r.distance[vertex / ranks] = depth;
    }
}

// Keys become predecessors (all bits for none): those with a class lose it.
__device__ __forceinline__ void finish(const Rank& r) {
    for (u64 i = global_thread(); i < r.local_words; i += global_threads())
        for (u32 bits = r.classed[i]; bits; bits &= bits - 1) r.keys[i * 32 + __ffs(bits) - 1] &= ~Key(NORMAL_CLASS);
}

// A warp puts the labels of a tile's vertices together, of as many words as it has lanes; TILE in
// kernels/partition/cuda/compact_ids.py. The compact ids of a tile begin anywhere in a word, and two words are read for each quad.
constexpr u32 TILE_WORDS = WARP, PLANE_WORDS = TILE_WORDS + 2;
constexpr u32 FEW_DIGITS = 4;  // of depths below 15, which are most where there are delegates
static_assert(PLANES * PLANE_WORDS <= WORDS_OF_WARP, "a tile's planes lie in shared memory");

// Of all ranks' keys for delegates the smallest; none for those that nothing `reached`.
template <u32 N>
__device__ __forceinline__ void smallest_keys(const World& w, const Rank& r, const u32 (&number)[N], const u32 (&reached)[N],
                                              Key (&smallest)[N]) {
#pragma unroll
    for (u32 j = 0; j < N; ++j) smallest[j] = reached[j] ? __ldcv(&r.delegate_keys[number[j]]) : NO_KEY;
    for (u32 from = 0; from < w.rank_count; ++from) {
        if (from == r.rank) continue;
        const Key* keys = w.ranks[from].delegate_keys;
        Key key[N];
        // Most have found their own, and what lies on another device is far.
#pragma unroll
        for (u32 j = 0; j < N; ++j)
            key[j] = reached[j] && (TREE == SMALLEST || smallest[j] == NO_KEY) ? __ldcv(&keys[number[j]]) : NO_KEY;
#pragma unroll
        for (u32 j = 0; j < N; ++j) smallest[j] = key[j] < smallest[j] ? key[j] : smallest[j];
    }
}

// Bring what a tile's delegates have to their vertices: keys, and bytes to the words in `planes`, (digits, PLANE_WORDS), the
// first of which is that of compact id `base`. While levels are committed each byte would be an access of its own to a large
// array.
__device__ __forceinline__ void bring_delegates(const World& w, const Rank& r, u64 tile, u32 digits, u32 base, u32* planes) {
    constexpr u32 AT_ONCE = TREE ? 4 : 8;
    u32 end = r.own_tiles[tile + 1];
    for (u32 at = r.own_tiles[tile]; at < end; at += AT_ONCE * WARP) {
        u32 place[AT_ONCE], number[AT_ONCE], code[AT_ONCE];
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            u32 i = at + j * WARP + lane_id();
            place[j] = i < end ? r.own_places[i] - base : NONE;
            number[j] = i < end ? r.own_numbers[i] : 0;
        }
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) code[j] = place[j] == NONE ? 0 : r.delegate_depths[number[j]];
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            // Where they are a whole word nobody else writes it, and atomics of all lanes would wait for each other.
            u32 word = __shfl_sync(ALL_LANES, place[j], 0) / WARP;
            if (__all_sync(ALL_LANES, place[j] == word * WARP + lane_id())) {
#pragma unroll 1
                for (u32 k = 0; k < digits; ++k) {
                    u32 bits = __ballot_sync(ALL_LANES, code[j] >> k & 1);
                    if (lane_id() == k) planes[k * PLANE_WORDS + word] = bits;
                }
            } else
#pragma unroll 1
                for (u32 rest = code[j]; rest; rest &= rest - 1)
                    atomicOr(&planes[(__ffs(rest) - 1) * PLANE_WORDS + place[j] / WARP], 1u << place[j] % WARP);
        }
        if (!TREE) continue;
        Key key[AT_ONCE];
        smallest_keys(w, r, number, code, key);
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j)
            if (place[j] != NONE) r.keys[base + place[j]] = key[j];
    }
}

// The words of the planes from number `first` on go to `planes`, `count` of each digit.
__device__ __forceinline__ void gather_planes(const Rank& r, u64 first, u32 count, u32 digits, bool deep, u32* planes) {
    for (u32 i = lane_id(); i < count; i += WARP) {
        u64 own = first + i;
        u32 plane[PLANES], found = 0;
#pragma unroll
        for (u32 k = 0; k < PLANES; ++k) plane[k] = k < digits ? r.planes[k * r.local_words + own] : 0;
#pragma unroll
        for (u32 k = 0; k < PLANES; ++k) found |= plane[k];
        // What is seen and in no plane is labelled already.
        u32 written = deep ? r.seen[own] & ~found : 0;
#pragma unroll
        for (u32 k = 0; k < PLANES; ++k)
            if (k < FEW_DIGITS || k < digits) planes[k * PLANE_WORDS + i] = plane[k] | written;
    }
}

// Each digit of the selector names a byte of the two, or with 8 more its sign in all bits (PTX: prmt).
__device__ __forceinline__ u32 permute_bytes(u32 a, u32 b, u32 selector) {
    u32 bytes;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(a), "r"(b), "r"(selector));
    return bytes;
}

// Which of up to a quad's compact ids each of its vertices has, four bits each, from 4 on none. `mask` says which have one.
__device__ __forceinline__ u32 ids_of_quad(u32 mask) {
    u32 has = (mask | mask << 3 | mask << 6 | mask << 9) & 0x1111u, before = has * 0x1110u;
    return (before & 0x3333u) | (~has & 0x1111u) << 2;
}

// The digits of one plane that a quad's compact ids have, from place `at` on, each in its byte.
__device__ __forceinline__ u32 read_digit(const u32* planes, u32 at, u32 digit) {
    const u32* words = &planes[digit * PLANE_WORDS + at / WARP];
    return spread(__funnelshift_r(words[0], words[1], at % WARP) & 15, 1u << digit);
}

// The predecessor of a vertex: its key, if it was reached after the source. `code` is its label while levels are gone through.
__device__ __forceinline__ Key predecessor(const Rank& r, u32 code, u32 id) { return code > 1 ? r.keys[id] : NO_KEY; }

template <class T>
struct alignas(16) QuadOf {
    T of[QUAD];
};

// A tile's vertices: their compact ids lie side by side, and so do their digits in a warp's planes.
struct Tile {
    u64 number;
    u32 mask, before;  // of a lane's word: which vertices have compact ids, and how many places of the planes come before
    u32 base;          // the compact id of the first place
};

// Labels of a whole tile, by quads of each lane. None has more than DIGITS, FEW_DIGITS at most.
template <u32 DIGITS>
__device__ __forceinline__ void widen_few(const Rank& r, const Tile& t, const u32* planes) {
    constexpr u32 AT_ONCE = TREE == ANY ? 2 : 1;  // whose keys are under way
    u32 window[DIGITS];
#pragma unroll
    for (u32 k = 0; k < DIGITS; ++k) {
        const u32* words = &planes[k * PLANE_WORDS + t.before / WARP];
        window[k] = __funnelshift_r(words[0], words[1], t.before % WARP);
    }
    u32 shift = lane_id() % QUADS * QUAD;
    u64 quad = t.number * TILE_WORDS * QUADS + lane_id();
    for (u32 from = lane_id() / QUADS; from < TILE_WORDS; from += AT_ONCE * QUAD, quad += AT_ONCE * WARP) {
        u32 bytes[AT_ONCE];
        QuadOf<Key> found[AT_ONCE];
#pragma unroll
        for (u32 h = 0; h < AT_ONCE; ++h) {
            u32 word = from + h * QUAD, mask = __shfl_sync(ALL_LANES, t.mask, word), before = __popc(mask & (1u << shift) - 1);
            u32 packed = 0, ids = ids_of_quad(mask >> shift & 15);
#pragma unroll
            for (u32 k = 0; k < DIGITS; ++k) packed |= spread(__shfl_sync(ALL_LANES, window[k], word) >> before & 15, 1u << k);
            bytes[h] = permute_bytes(packed, 0, ids);
            if (TREE != ANY) continue;
            u32 first = t.base + __shfl_sync(ALL_LANES, t.before, word) + before;
#pragma unroll
            for (u32 k = 0; k < QUAD; ++k)
                found[h].of[k] = predecessor(r, bytes[h] >> 8 * k & 255, first + (ids >> 4 * k & 3));
        }
#pragma unroll
        for (u32 h = 0; h < AT_ONCE; ++h) {
            // One less in each byte, of which the upper bit is the sign.
            u32 depths = (bytes[h] | 0x80808080u) - 0x01010101u ^ 0x80808080u;
            QuadOf<i32> labels{i32(permute_bytes(depths, 0, 0x8880)), i32(permute_bytes(depths, 0, 0x9991)),
                               i32(permute_bytes(depths, 0, 0xAAA2)), i32(permute_bytes(depths, 0, 0xBBB3))};
            reinterpret_cast<QuadOf<i32>*>(r.distance)[quad + h * WARP] = labels;
            if (TREE == ANY) reinterpret_cast<QuadOf<Key>*>(r.predecessors)[quad + h * WARP] = found[h];
        }
    }
}

// The same of any tile.
__device__ __forceinline__ void widen_any(const Rank& r, const Tile& t, u32 digits, const u32* planes) {
    u32 shift = lane_id() % QUADS * QUAD;
    for (u32 from = lane_id() / QUADS; from < TILE_WORDS; from += QUAD) {
        u32 mask = __shfl_sync(ALL_LANES, t.mask, from);
        u32 at = __shfl_sync(ALL_LANES, t.before, from) + __popc(mask & (1u << shift) - 1), bytes = 0;
        u64 local = (t.number * TILE_WORDS + from) * WARP + shift;
        for (u32 k = 0; k < digits; ++k) bytes |= read_digit(planes, at, k);
        u32 ids = ids_of_quad(mask >> shift & 15);
        bytes = permute_bytes(bytes, 0, ids);
        for (u32 k = 0; k < QUAD && local + k < r.own; ++k) {
            u32 code = bytes >> 8 * k & 255;
            if (code != DEEP) r.distance[local + k] = i32(code) - 1;
            if (TREE == ANY) r.predecessors[local + k] = predecessor(r, code, t.base + at + (ids >> 4 * k & 3));
        }
    }
}

// Make a search's labels, -1 where nothing was reached, of what levels of up to `deepest` left, and its predecessors.
// `alone` is the source, if it is a vertex of this rank and has no compact id. `planes` is (PLANES, PLANE_WORDS) of a warp.
__device__ __forceinline__ void widen(const World& w, const Rank& r, u64 deepest, u64 alone, u32* planes) {
    bool deep = deepest + 1 >= DEEP;
    u32 digits = deep ? PLANES : 32 - __clz(u32(deepest) + 1), warps = blockDim.x / WARP;
    u64 tiles = (r.own_words + TILE_WORDS - 1) / TILE_WORDS;
    // Tiles side by side go to different blocks, since delegates may lie side by side.
    for (u64 tile = u64(warp_id()) * gridDim.x + blockIdx.x; tile < tiles; tile += u64(warps) * gridDim.x) {
        u64 own = tile * TILE_WORDS + lane_id();
        u32 mask = own < r.own_words ? r.id_mask[own] : 0, ids = __popc(mask), upto = warp_inclusive_sum(ids);
        u32 begin = r.tile_ids[tile], base = begin / WARP * WARP, end = begin + __shfl_sync(ALL_LANES, upto, WARP - 1);
        const Tile t{tile, mask, begin - base + upto - ids, base};
        __syncwarp();
        gather_planes(r, base / WARP, (end - base + WARP - 1) / WARP, digits, deep, planes);
        __syncwarp();
        bring_delegates(w, r, tile, digits, base, planes);
        __syncwarp();
        bool whole = (tile + 1) * TILE_WORDS * WARP <= r.own;
        if (whole && digits < FEW_DIGITS)
            widen_few<FEW_DIGITS - 1>(r, t, planes);
        else if (whole && digits == FEW_DIGITS)
            widen_few<FEW_DIGITS>(r, t, planes);
        else
            widen_any(r, t, digits, planes);
        __syncwarp();
        if (lane_id() == 0 && alone / (TILE_WORDS * WARP) == tile) r.distance[alone] = 0;
    }
}
