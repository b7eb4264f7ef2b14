// Labels: bytes while levels are gone through, and what callers get in the end.

#include "kernels/partition/rank.cuh"

// A depth as a byte: 0 where nothing was reached, then one more than the depth. Labels of the deepest levels are
// written at once, under DEEP. Bytes of a large graph stay in the second-level cache from level to level, where whole
// labels, of which each level writes some everywhere, would go to memory and back every time.
constexpr u32 DEEP = 255;

__device__ __forceinline__ u32 shallow(i32 depth) { return u32(depth) + 1 < DEEP ? u32(depth) + 1 : DEEP; }

// Label those of the QUAD vertices from `local` on whose bytes are ones.
__device__ __forceinline__ void label(const Rank& r, u32 local, u32 ones, i32 depth) {
    u32 byte = shallow(depth);
    atomicOr(reinterpret_cast<u32*>(r.depths) + local / QUAD, ones & byte * 0x01010101u);
    for (u32 k = 0; byte == DEEP && k < QUAD; ++k)
        if (ones >> 8 * k & 1) r.distance[local + k] = depth;
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

// Bring what own delegates have to their vertices: bytes, and of all ranks' keys the smallest. While levels settle each byte
// would be an access of its own to a large array, with which a search of Kronecker 26 on one H200 took 5 % longer.
__device__ __forceinline__ void place_delegates(const World& w, const Rank& r) {
    constexpr u32 AT_ONCE = 4;
    for (u64 base = global_thread(); base < r.own_count; base += AT_ONCE * global_threads()) {
        u32 place[AT_ONCE], number[AT_ONCE];
        bool live[AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) {
            u64 i = base + k * global_threads();
            live[k] = i < r.own_count;
            place[k] = live[k] ? r.own_places[i] : 0;
            number[k] = live[k] ? r.own_numbers[i] : 0;
        }
        u8 depth[AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) depth[k] = r.delegate_depths[number[k]];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k)
            if (live[k] && depth[k]) r.depths[place[k]] = depth[k];
        if (!TREE) continue;
        Key smallest[AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) smallest[k] = __ldcv(&r.delegate_keys[number[k]]);
        for (u32 from = 0; from < w.rank_count; ++from) {
            if (from == r.rank) continue;
            const Key* keys = w.ranks[from].delegate_keys;
            Key key[AT_ONCE];
            // Most have found their own, and what lies on another device is far.
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) {
                bool asks = live[k] && depth[k] && (TREE == SMALLEST || smallest[k] == NO_KEY);
                key[k] = asks ? __ldcv(&keys[number[k]]) : NO_KEY;
            }
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) smallest[k] = key[k] < smallest[k] ? key[k] : smallest[k];
        }
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k)
            if (live[k]) r.keys[place[k]] = smallest[k];
    }
}

// Keys become predecessors (all bits for none): those with a class lose it.
__device__ __forceinline__ void finish(const Rank& r) {
    for (u64 i = global_thread(); i < r.local_words; i += global_threads())
        for (u32 bits = r.classed[i]; bits; bits &= bits - 1) r.keys[i * 32 + __ffs(bits) - 1] &= ~Key(NORMAL_CLASS);
}

// Of a quad's vertices, whose labels are `bytes`, those that nothing was found for have no predecessor.
__device__ __forceinline__ void forget_keys(const Rank& r, u32 local, u32 bytes) {
    u32 expected = r.nd_mask[local / WARP] >> local % WARP & 15;
#pragma unroll
    for (u32 k = 0; k < QUAD; ++k)
        if (expected >> k & 1 && (bytes >> 8 * k & 255) <= shallow(0)) r.keys[local + k] = NO_KEY;
}

// Bytes become labels, -1 where nothing was reached. A lane has quads that are far apart, so that stores of a warp are
// side by side, and reads all of them at once.
__device__ __forceinline__ void widen(const Rank& r) {
    constexpr u32 AT_ONCE = 4;
    struct alignas(16) Labels {
        i32 of[QUAD];
    };
    u64 quads = (r.local + QUAD - 1) / QUAD;
    for (u64 base = global_thread(); base < quads; base += AT_ONCE * global_threads()) {
        u32 bytes[AT_ONCE];
#pragma unroll
        for (u32 q = 0; q < AT_ONCE; ++q) {
            u64 i = base + q * global_threads();
            bytes[q] = i < quads ? reinterpret_cast<const u32*>(r.depths)[i] : 0;
        }
#pragma unroll
        for (u32 q = 0; q < AT_ONCE; ++q) {
            u64 i = base + q * global_threads(), local = i * QUAD;
            if (TREE == ANY && i < quads) forget_keys(r, u32(local), bytes[q]);
            Labels labels;
#pragma unroll
            for (u32 k = 0; k < QUAD; ++k) labels.of[k] = i32(bytes[q] >> 8 * k & 255) - 1;
            if (local + QUAD <= r.local && !any_full_byte(bytes[q])) {
                reinterpret_cast<Labels*>(r.distance)[i] = labels;
                continue;
            }
#pragma unroll
            for (u32 k = 0; k < QUAD; ++k)
                if (local + k < r.local && u32(labels.of[k] + 1) != DEEP) r.distance[local + k] = labels.of[k];
        }
    }
}
