// Status lookup (Merrill, Garland, Grimshaw, PPoPP 2012, section 4.2): which ends of gathered arcs have not
// been visited, from parts that can be combined.
//
// LOOK_BITMASK: one bit per vertex; if it is set, the vertex was visited. LOOK_WARP and LOOK_HISTORY cull an
// arc that another of the same warp, or one of the last HISTORY that this block looked up, stands for. Then
// the vertex is claimed: with neither of the next two, every arc that comes so far is new, which relabels visited
// vertices whose bit was lost or is stale, so that it serves measurements and no search; with LOOK_LABEL by a read
// of its label and a plain write, so that arcs looked up at the same time may all be new (the paper's way); with
// LOOK_ATOMIC by an atomic, so that exactly one arc is new (no false negatives).
//
// The last two ways leave the right labels (see labels.cuh): those of one level are equal. Without LOOK_ATOMIC distances
// take no atomic, as in the paper; keys are written by atomicMin, since gravel's predecessors are the smallest. Bits may
// be read late, and without LOOK_ATOMIC be lost to races between bytes, which costs work only.
//
// With TREE a bit may stand only for vertices of earlier levels, since a later arc of the same level may bring
// a smaller predecessor. So it is set when a vertex is found again, and by whoever expands vertices in a step
// of its own (`mark`). For the same reason an arc is culled only for one with a predecessor that is not larger.
//
// Use. `culling.clear()` and a barrier at the start of a search; nothing is cleared between levels. Then
// `look_up<K>(parts, status, culling, vertex, parent, depth, live)`: whole warps call it, with K arcs per
// lane; it turns live[k] (there is an arc) into whether it is new, and sets labels and bits. Parents count only if TREE.
// `history` and `winners` are used if their parts are. Bitmask u32 (vertices / 32, rounded up), zero but for the
// source, or zero if the source is looked up too.

#include "kernels/bfs/cuda/culling.cuh"
#include "kernels/bfs/cuda/labels.cuh"

enum LookUp : u32 { LOOK_BITMASK = 1, LOOK_LABEL = 2, LOOK_WARP = 4, LOOK_HISTORY = 8, LOOK_ATOMIC = 16 };  // as in parts.py

struct Status {
    u32* bitmask;
    i32* distance;
    u64* keys;
};

__device__ __forceinline__ bool marked(const Status& s, VERTEX vertex) {
    return s.bitmask[vertex >> 5] >> (vertex & 31) & 1;
}

// Without LOOK_ATOMIC a byte is read and written, so that its other bits may be lost, as in the paper.
__device__ __forceinline__ void mark(u32 parts, const Status& s, VERTEX vertex) {
    if (parts & LOOK_ATOMIC) {
        atomicOr(&s.bitmask[vertex >> 5], 1u << (vertex & 31));
        return;
    }
    volatile u8* byte = reinterpret_cast<u8*>(s.bitmask) + (vertex >> 3);
    *byte = u8(*byte | 1u << (vertex & 7));
}

__device__ __forceinline__ bool claim(u32 parts, const Status& s, VERTEX vertex, u64 parent, u32 depth) {
    if (TREE) {
        u64 mine = make_key(depth, parent);
        u64 known = UNREACHED;
        if (parts & LOOK_ATOMIC) {
            known = atomicMin(&s.keys[vertex], mine);
        } else {
            if (parts & LOOK_LABEL) known = __ldcg(&s.keys[vertex]);
            if (mine < known) atomicMin(&s.keys[vertex], mine);
        }
        if (known >> KEY_SHIFT < depth) mark(parts, s, vertex);
        return known == UNREACHED;
    }
    if (parts & LOOK_ATOMIC) {
        u32 bit = 1u << (vertex & 31);
        if (atomicOr(&s.bitmask[vertex >> 5], bit) & bit) return false;
        s.distance[vertex] = i32(depth);
        return true;
    }
    // The label is written at once after it is read, since others may be between the two.
    bool newly = !(parts & LOOK_LABEL) || __ldcg(&s.distance[vertex]) == -1;
    if (newly) s.distance[vertex] = i32(depth);
    mark(parts, s, vertex);
    return newly;
}

// The part before the claim: drops arcs by bitmask, warp and history. Warps call it as they call `look_up`.
template <u32 K>
__device__ __forceinline__ void cull(u32 parts, const Status& s, const Culling& c, const VERTEX (&vertex)[K],
                                     const VERTEX (&parent)[K], bool (&live)[K]) {
    if (parts & LOOK_BITMASK) {
        u32 word[K];
#pragma unroll
        for (u32 k = 0; k < K; ++k) word[k] = live[k] ? s.bitmask[vertex[k] >> 5] : 0;
#pragma unroll
        for (u32 k = 0; k < K; ++k) live[k] = live[k] && !(word[k] >> (vertex[k] & 31) & 1);
    }
#pragma unroll
    for (u32 k = 0; k < K; ++k) {
        if (parts & LOOK_WARP && culled_by_warp(c, live[k], vertex[k], parent[k])) live[k] = false;
        if (parts & LOOK_HISTORY && live[k] && culled_by_history(c, vertex[k], parent[k])) live[k] = false;
    }
}

template <u32 K>
__device__ __forceinline__ void look_up(u32 parts, const Status& s, const Culling& c, const VERTEX (&vertex)[K],
                                        const VERTEX (&parent)[K], u32 depth, bool (&live)[K]) {
    cull<K>(parts, s, c, vertex, parent, live);
#pragma unroll
    for (u32 k = 0; k < K; ++k) live[k] = live[k] && claim(parts, s, vertex[k], u64(parent[k]), depth);
}
