// Component labels of a renumbered graph, brought back to the numbering from before; the CPU twin is
// `gravel.kernels.relabel.components_back`.
//
// Contract: permutation[old] = new, component[new] its label, VERTEX (vertices); smallest VERTEX (vertices) all
// ones. First `find_smallest`, then `label_back`. Any block.
//
// variants VERTEX: u32 u64

#include "kernels/cuda/types.cuh"

extern "C" __global__ void find_smallest(const VERTEX* permutation, const VERTEX* component, u64 vertices,
                                         VERTEX* smallest) {
    for (u64 old = global_thread(); old < vertices; old += global_threads()) {
        VERTEX* place = &smallest[component[permutation[old]]];
        // Nearly all vertices find a smaller one there: they must not queue for one address.
        if (*reinterpret_cast<volatile VERTEX*>(place) > VERTEX(old)) atomicMin(place, VERTEX(old));
    }
}

extern "C" __global__ void label_back(const VERTEX* permutation, const VERTEX* component, u64 vertices,
                                      const VERTEX* smallest, VERTEX* labels) {
    for (u64 old = global_thread(); old < vertices; old += global_threads())
        labels[old] = smallest[component[permutation[old]]];
}
