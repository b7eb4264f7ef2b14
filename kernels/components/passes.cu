// Components by passes over all arcs, as "GPU Acceleration with CUDA: Adaptive BFS & Afforest" (Moschou,
// section 2.4) describes them: each arc looks up the roots of both ends and lowers the larger one's parent to
// the smaller one by an atomic minimum; then paths are compressed.
//
// Of two hooks of one root in the same pass the smaller parent stays and the other is lost, so one pass may
// leave a component in parts; passes are repeated until one changes nothing. With `prune` an arc is skipped if
// both its ends hang on the component `giant`, else every arc issues its atomic.
//
// Contract: row_offsets i64 (vertices + 1), columns VERTEX (arcs), component VERTEX (vertices); changed and
// apart are set to 1, never to 0. Any grid; block: a multiple of 32.
//
// variants VERTEX: u32 u64

#include "kernels/components/arcs.cuh"
#include "kernels/components/forest.cuh"

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

extern "C" __global__ void pass(const i64* row_offsets, const VERTEX* columns, u64 vertices, VERTEX* component,
                                const VERTEX* giant, u32 prune, u32* changed) {
    VERTEX skipped = prune ? *giant : NO_VERTEX;
    bool mine = false;
    each_arc(row_offsets, 0, vertices, columns, 0, row_offsets[vertices],
             [&](u64 v, VERTEX u) { pass_arc(component, VERTEX(v), u, skipped, prune, mine); });
    if (mine) *changed = 1;
}

// The same for the first arc of every vertex, so that a largest component is there to be sampled.
extern "C" __global__ void first_arcs(const i64* row_offsets, const VERTEX* columns, u64 vertices,
                                      VERTEX* component) {
    bool changed = false;
    for (u64 v = global_thread(); v < vertices; v += global_threads())
        if (row_offsets[v] < row_offsets[v + 1])
            pass_arc(component, VERTEX(v), columns[row_offsets[v]], NO_VERTEX, false, changed);
}

extern "C" __global__ void compress(VERTEX* component, u64 vertices) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        VERTEX root = root_above(component, VERTEX(v), NO_VERTEX);
        if (root != v) component[v] = root;
    }
}

// Whether an arc joins two labels.
extern "C" __global__ void compare(const i64* row_offsets, const VERTEX* columns, u64 vertices,
                                   const VERTEX* component, u32* apart) {
    bool mine = false;
    each_arc(row_offsets, 0, vertices, columns, 0, row_offsets[vertices], [&](u64 v, VERTEX u) { mine |= component[v] != component[u]; });
    if (mine) *apart = 1;
}

// The most frequent label of 256 vertices that have arcs, if they are found; one block of 256 threads.
extern "C" __global__ void sample(const i64* row_offsets, u64 vertices, const VERTEX* component, VERTEX* giant) {
    __shared__ VERTEX label[256];
    __shared__ u32 best;
    if (threadIdx.x == 0) best = 0;
    u64 v = __umul64hi((threadIdx.x + 1) * 0x9E3779B97F4A7C15ull, vertices);
    for (u32 tries = 0; tries < 16 && row_offsets[v] == row_offsets[v + 1]; ++tries) v = (v * 3 + 1) % vertices;
    label[threadIdx.x] = component[v];
    __syncthreads();
    u32 votes = 0;
    for (u32 i = 0; i < 256; ++i) votes += label[i] == label[threadIdx.x];
    atomicMax(&best, votes << 16 | threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) *giant = label[best & 0xffff];
}
