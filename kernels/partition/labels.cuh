// Labels: a few bits while levels are gone through, and what callers get in the end.

#include "kernels/partition/rank.cuh"

// Of a depth what is kept until the end: 0 where nothing was reached, then one more than the depth. Labels of the deepest
// levels are written at once, under DEEP. Delegates have bytes. Of normal vertices each binary digit is in a bitmap of its
// own, a plane: a level writes words of those digits that it has, where bytes would be eight times as many, and whole
// labels, of which each level writes some everywhere, would go to memory and back every time.
constexpr u32 DEEP = 255, PLANES = 8;

__device__ __forceinline__ u32 shallow(i32 depth) { return u32(depth) + 1 < DEEP ? u32(depth) + 1 : DEEP; }

// Label the vertices of word `own` that are `fresh`. Each word is labelled in every level, and the first that has a digit
// writes all of its plane, which so needs no clearing.
__device__ __forceinline__ void label(const Rank& r, u64 own, u32 fresh, i32 depth) {
    u32 code = shallow(depth);
    if (code == DEEP) {
        for (u32 bits = fresh; bits; bits &= bits - 1) r.distance[own * WARP + __ffs(bits) - 1] = depth;
        return;
    }
    bool opens = !(code & code - 1);  // a plane
    for (u32 rest = code; (fresh || opens) && rest; rest &= rest - 1) {
        u32* word = &r.planes[u64(__ffs(rest) - 1) * r.local_words + own];
        if (opens)
            *word = fresh;
        else
            atomicOr(word, fresh);  // whose result nobody waits for
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

constexpr u32 TILE_WORDS = WARP;  // whose labels a warp puts together at once; TILE in kernels/partition/cuda/lookers.py
constexpr u32 FEW_DIGITS = 3;     // of depths below 7, which are most where there are delegates

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

// Bring what a tile's delegates have to their vertices: keys, and bytes to the words in `planes`, (digits, TILE_WORDS). While
// levels settle each byte would be an access of its own to a large array, with which a search of Kronecker 26 on one H200
// took 5 % longer.
__device__ __forceinline__ void bring_delegates(const World& w, const Rank& r, u64 tile, u32 digits, u32* planes) {
    constexpr u32 AT_ONCE = TREE ? 4 : 8;
    u32 end = r.own_tiles[tile + 1];
    for (u32 at = r.own_tiles[tile]; at < end; at += AT_ONCE * WARP) {
        u32 place[AT_ONCE], number[AT_ONCE], code[AT_ONCE];
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j) {
            u32 i = at + j * WARP + lane_id();
            place[j] = i < end ? r.own_places[i] % (TILE_WORDS * WARP) : NONE;
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
                    if (lane_id() == k) planes[k * TILE_WORDS + word] = bits;
                }
            } else
#pragma unroll 1
                for (u32 rest = code[j]; rest; rest &= rest - 1)
                    atomicOr(&planes[(__ffs(rest) - 1) * TILE_WORDS + place[j] / WARP], 1u << place[j] % WARP);
        }
        if (!TREE) continue;
        Key key[AT_ONCE];
        smallest_keys(w, r, number, code, key);
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; ++j)
            if (place[j] != NONE) r.keys[tile * TILE_WORDS * WARP + place[j]] = key[j];
    }
}

// The planes' words of normal vertices go to `planes`, a lane's own of each, and what was expected in vain is forgotten.
__device__ __forceinline__ void gather_planes(const Rank& r, u64 own, u32 digits, bool deep, u32* planes) {
    bool live = own < r.local_words;
    u32 plane[PLANES], found = 0;
#pragma unroll
    for (u32 k = 0; k < PLANES; ++k) plane[k] = live && k < digits ? r.planes[k * r.local_words + own] : 0;
#pragma unroll
    for (u32 k = 1; k < PLANES; ++k) found |= plane[k];
    // What is seen and in no plane is labelled already.
    u32 written = live && deep ? r.seen[own] & ~(found | plane[0]) : 0;
#pragma unroll
    for (u32 k = 0; k < PLANES; ++k)
        if (k < FEW_DIGITS || k < digits) planes[k * TILE_WORDS + lane_id()] = plane[k] | written;
    if (TREE != ANY || !live) return;
    for (u32 bits = r.nd_mask[own] & ~(found | written); bits; bits &= bits - 1) r.keys[own * WARP + __ffs(bits) - 1] = NO_KEY;
}

// A quad's digits of one plane, each in its byte.
__device__ __forceinline__ u32 read_digit(const u32* planes, u32 quad, u32 digit) {
    u32 bits = planes[digit * TILE_WORDS + quad / QUADS] >> quad % QUADS * QUAD & 15;
    return spread(bits, 1u << digit);
}

// Make a search's labels, -1 where nothing was reached, of what levels of up to `deepest` left, and its predecessors.
// `planes` is (PLANES, TILE_WORDS) of a warp.
__device__ __forceinline__ void widen(const World& w, const Rank& r, u64 deepest, u32* planes) {
    struct alignas(16) Labels {
        i32 of[QUAD];
    };
    bool deep = deepest + 1 >= DEEP;
    u32 digits = deep ? PLANES : 32 - __clz(u32(deepest) + 1), warps = blockDim.x / WARP;
    u64 tiles = (r.local_words + TILE_WORDS - 1) / TILE_WORDS;
    // Tiles side by side go to different blocks, since delegates may lie side by side.
    for (u64 tile = u64(warp_id()) * gridDim.x + blockIdx.x; tile < tiles; tile += u64(warps) * gridDim.x) {
        __syncwarp();
        gather_planes(r, tile * TILE_WORDS + lane_id(), digits, deep, planes);
        __syncwarp();
        bring_delegates(w, r, tile, digits, planes);
        __syncwarp();
        for (u32 quad = lane_id(); quad < TILE_WORDS * QUADS; quad += WARP) {
            u64 local = tile * TILE_WORDS * WARP + quad * QUAD;
            if (local >= r.local) break;
            u32 bytes = 0;
#pragma unroll
            for (u32 k = 0; k < FEW_DIGITS; ++k) bytes |= read_digit(planes, quad, k);
            for (u32 k = FEW_DIGITS; k < digits; ++k) bytes |= read_digit(planes, quad, k);
            Labels labels;
#pragma unroll
            for (u32 k = 0; k < QUAD; ++k) labels.of[k] = i32(bytes >> 8 * k & 255) - 1;
            if (local + QUAD <= r.local && !any_full_byte(bytes)) {
                reinterpret_cast<Labels*>(r.distance)[local / QUAD] = labels;
                continue;
            }
#pragma unroll
            for (u32 k = 0; k < QUAD; ++k)
                if (local + k < r.local && u32(labels.of[k] + 1) != DEEP) r.distance[local + k] = labels.of[k];
        }
    }
}
