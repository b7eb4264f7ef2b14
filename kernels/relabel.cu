// Labels of a renumbered graph, brought back to the numbering from before; the CPU twin is kernels/relabel.py.
//
// Contract: permutation[old] = new and inverse[new] = old, VERTEX (vertices). Labels come strided, since those of
// a search are halves of its keys: that of vertex v is at v * stride. Either label may be left out (a null
// result). Distances are i32, predecessors TREE with -1 for none. Any block.
//
// Both labels of a vertex are read in one visit: halves of one key share a sector, and reading scattered
// sectors is what this costs.
//
// variants VERTEX: u32 u64
// variants TREE: i32 i64

#include "kernels/cuda/types.cuh"

extern "C" __global__ void invert(const VERTEX* permutation, u64 vertices, VERTEX* inverse) {
    for (u64 old = global_thread(); old < vertices; old += global_threads())
        inverse[permutation[old]] = VERTEX(old);
}

extern "C" __global__ void labels_back(const VERTEX* permutation, const VERTEX* inverse, u64 vertices,
                                       const i32* distance, i64 distance_stride, const TREE* predecessor,
                                       i64 predecessor_stride, i32* distances, TREE* predecessors) {
    for (u64 old = global_thread(); old < vertices; old += global_threads()) {
        i64 now = i64(permutation[old]);
        if (distances) distances[old] = distance[now * distance_stride];
        if (predecessors) {
            TREE found = predecessor[now * predecessor_stride];
            predecessors[old] = found < 0 ? TREE(-1) : TREE(inverse[found]);
        }
    }
}
