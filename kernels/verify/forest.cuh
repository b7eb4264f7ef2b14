// A union-find of the verifiers: parents of all vertices, none larger than its vertex, a root's itself.

#include "kernels/cuda/types.cuh"

template <class Vertex>
__device__ __forceinline__ Vertex parent_of(const Vertex* parents, Vertex v) {
    return *reinterpret_cast<const volatile Vertex*>(&parents[v]);
}

// The root above a vertex, with every second vertex on the way pointed further up: one that is no root stays none, so
// that nothing is lost where two threads do so at once.
template <class Vertex>
__device__ __forceinline__ Vertex root_of(Vertex* parents, Vertex v) {
    Vertex above = parent_of(parents, v);
    while (above != v) {
        const Vertex further = parent_of(parents, above);
        if (further != above) *reinterpret_cast<volatile Vertex*>(&parents[v]) = further;
        v = further;
        above = parent_of(parents, v);
    }
    return v;
}

// Put the larger of two roots under the smaller.
template <class Vertex>
__device__ __forceinline__ void unite(Vertex* parents, Vertex a, Vertex b) {
    while (true) {
        a = root_of(parents, a), b = root_of(parents, b);
        if (a == b) return;
        const Vertex high = a > b ? a : b, low = a > b ? b : a;
        if (atomicCAS(&parents[high], high, low) == high) return;
    }
}

// Point every vertex at its root. Only a vertex's own thread writes its parent, or an older one might come last.
template <class Vertex>
__device__ __forceinline__ void point_at_roots(Vertex* parents, u64 n) {
    for (u64 v = global_thread(); v < n; v += global_threads()) {
        Vertex at = parent_of(parents, Vertex(v)), above = parent_of(parents, at);
        while (at != above) {
            *reinterpret_cast<volatile Vertex*>(&parents[v]) = above;
            at = above;
            above = parent_of(parents, at);
        }
    }
}
