// What passes over all arcs do with an arc, and with all vertices; see passes.cu.

#include "kernels/components/cuda/forest.cuh"

extern "C" __global__ void alone(VERTEX* component, u64 vertices) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) component[v] = VERTEX(v);
}

__device__ __forceinline__ void pass_arc(VERTEX* component, VERTEX v, VERTEX u, VERTEX giant, bool prune, bool& changed) {
    bool stored;
    VERTEX p = root_of(component, v, NO_VERTEX, stored), q = root_of(component, u, NO_VERTEX, stored);
    if (prune && p == giant && q == giant) return;
    VERTEX high = p > q ? p : q, low = p > q ? q : p;
    if (atomicMin(&component[high], low) > low) changed = true;
}

extern "C" __global__ void compress(VERTEX* component, u64 vertices) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        VERTEX root = root_above(component, VERTEX(v), NO_VERTEX);
        if (root != v) component[v] = root;
    }
}

// The most frequent of 256 labels, one of each thread of the block, is written to `giant`.
__device__ __forceinline__ void vote_for_giant(VERTEX mine, VERTEX* giant) {
    __shared__ VERTEX label[256];
    __shared__ u32 best;
    if (threadIdx.x == 0) best = 0;
    label[threadIdx.x] = mine;
    __syncthreads();
    u32 votes = 0;
    for (u32 i = 0; i < 256; ++i) votes += label[i] == mine;
    atomicMax(&best, votes << 16 | threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) *giant = label[best & 0xffff];
}

// The vertex that a thread samples: one that has arcs, if a few tries find one.
template <class HasArcs>
__device__ __forceinline__ u64 sampled_vertex(u64 vertices, HasArcs has_arcs) {
    u64 v = __umul64hi((threadIdx.x + 1) * 0x9E3779B97F4A7C15ull, vertices);
    for (u32 tries = 0; tries < 16 && !has_arcs(v); ++tries) v = (v * 3 + 1) % vertices;
    return v;
}
