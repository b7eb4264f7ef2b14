// What a search writes. TREE = 0: distances alone. TREE = 32 or 33, the bits of a predecessor: keys[v] =
// distance << TREE | predecessor, all ones if unreached and all ones below the distance for the source.
// The least key has the least distance and then the smallest predecessor, so an atomicMin keeps it.
// With 32 the halves of the keys are the results; with 33 (2^31 vertices and more) they are written out.

#include "kernels/cuda/types.cuh"

constexpr u64 UNREACHED = ~0ull;
constexpr u32 KEY_SHIFT = TREE ? TREE : 32;
constexpr u64 NO_PREDECESSOR = (1ull << KEY_SHIFT) - 1;

__device__ __forceinline__ u64 make_key(u32 depth, u64 predecessor) { return u64(depth) << KEY_SHIFT | predecessor; }

__device__ __forceinline__ void write_wide(const u64* keys, i32* distance, i64* predecessor, u64 vertices) {
    if (TREE != 33) return;
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        u64 key = keys[v];
        distance[v] = key == UNREACHED ? -1 : i32(key >> KEY_SHIFT);
        predecessor[v] = (key & NO_PREDECESSOR) == NO_PREDECESSOR ? -1 : i64(key & NO_PREDECESSOR);
    }
}
