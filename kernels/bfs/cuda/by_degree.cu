// First neighbours by degree, for searches of distances where the order of the vertices is not by degree (see pull.cuh). In
// a graph with hubs a neighbour of high degree is visited early, so the first look mostly answers. Predecessors must be
// the smallest, which are among the first arcs instead.
//
// Degrees are compared by classes of 1/8 of a power of two, a byte a vertex: bytes of random vertices are mostly in
// the second-level cache, where offsets are not.
//
// variants VERTEX: u32 u64

#include "kernels/cuda/types.cuh"

constexpr u32 CLASSES = 256;       // as in cuda/by_degree.py
constexpr u32 CLASS_BITS = 3;      // of a degree below its highest bit
constexpr u32 TRIED = 64;          // arcs of a row among which neighbours are chosen: some of a longer row's first have hubs
constexpr u32 IN_PLANE = 8;        // as in pull.cuh
constexpr VERTEX NO_VERTEX = VERTEX(~VERTEX(0));

__device__ __forceinline__ u32 class_of(u64 degree) {
    u32 value = degree < ~0u ? u32(degree) : ~0u;
    if (!value) return 0;
    u32 power = 31 - __clz(value);
    return power << CLASS_BITS | (value << (31 - power) >> (31 - CLASS_BITS) & ((1u << CLASS_BITS) - 1));
}

// The class of every vertex, and of each class its vertices and their arcs. counts u64 (2, CLASSES), zero. Block: CLASSES.
extern "C" __global__ void classify(const i64* row_offsets, u64 vertices, u8* classes, u64* counts) {
    __shared__ u64 own[2 * CLASSES];
    for (u32 i = threadIdx.x; i < 2 * CLASSES; i += blockDim.x) own[i] = 0;
    __syncthreads();
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        u64 degree = u64(row_offsets[v + 1] - row_offsets[v]);
        u32 at = class_of(degree);
        classes[v] = u8(at);
        if (!degree) continue;
        atomicAdd(&own[at], 1ull);
        atomicAdd(&own[CLASSES + at], degree);
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < 2 * CLASSES; i += blockDim.x)
        if (own[i]) atomicAdd(&counts[i], own[i]);
}

template <u32 KEPT>
__device__ __forceinline__ void choose(const i64* row_offsets, const VERTEX* columns, const u8* classes, u64 vertices,
                                       u64 last, VERTEX* first_neighbours, VERTEX* planes, u32* closed) {
    for (u64 v = global_thread(); v < last; v += global_threads()) {
        i64 begin = v < vertices ? row_offsets[v] : 0, degree = v < vertices ? row_offsets[v + 1] - begin : 0;
        u32 tried = degree < TRIED ? u32(degree) : u32(TRIED);
        u32 best[KEPT] = {};  // class << 16 | how far before the end of what is tried, 0 for none
        for (u32 i = 0; i < tried; ++i) {
            u32 key = u32(classes[columns[begin + i]]) << 16 | (TRIED - i);
            if (key <= best[KEPT - 1]) continue;
#pragma unroll
            for (u32 k = 0; k < KEPT; ++k) {
                u32 lower = key < best[k] ? key : best[k];
                best[k] = key < best[k] ? best[k] : key;
                key = lower;
            }
        }
#pragma unroll
        for (u32 k = 0; k < KEPT; ++k) {
            VERTEX neighbour = best[k] ? columns[begin + (TRIED - (best[k] & 0xffff))] : NO_VERTEX;
            if (k < 2)
                first_neighbours[2 * v + k] = neighbour;
            else
                planes[((k - 2) / IN_PLANE * last + v) * IN_PLANE + (k - 2) % IN_PLANE] = neighbour;
        }
        u32 none = __ballot_sync(ALL_LANES, degree == 0);
        if (lane_id() == 0) closed[v / 32] = none;
    }
}

// For every vertex below `last` neighbours among the first TRIED arcs of its row, highest classes first and ascending within
// a class; NO_VERTEX where there are fewer. Two are its first neighbours, the next fill its planes, of which there are up to
// two, and one is as much as pays. closed: bits of the vertices without arcs. Block: a multiple of 32.
extern "C" __global__ void choose_by_degree(const i64* row_offsets, const VERTEX* columns, const u8* classes, u64 vertices,
                                            u64 last, u32 plane_count, VERTEX* first_neighbours, VERTEX* planes, u32* closed) {
    if (plane_count == 0) choose<2>(row_offsets, columns, classes, vertices, last, first_neighbours, planes, closed);
    if (plane_count == 1) choose<2 + IN_PLANE>(row_offsets, columns, classes, vertices, last, first_neighbours, planes, closed);
    if (plane_count == 2) choose<2 + 2 * IN_PLANE>(row_offsets, columns, classes, vertices, last, first_neighbours, planes, closed);
}
