// A forest over the vertices that threads join at the same time: component[v] is the parent of v, never larger.
//
// A root is only ever hooked under a smaller vertex, by compare-and-swap while it is a root, so the root of a
// tree is its smallest vertex and no walk can run in circles. A walk stores grandparents on its way (path
// halving); a vertex that is no root any more is written by such stores alone, each an ancestor, so they need
// no atomics. Jayanti, Tarjan, A randomized concurrent algorithm for disjoint set union, PODC 2016, section 3.

#include "kernels/cuda/types.cuh"

constexpr u32 SEEN = 4;  // steps up that are looked for in the first-level cache: 0.8 to 2.3 ms where 2 took 2.2 to 3.4
constexpr VERTEX NO_VERTEX = VERTEX(~VERTEX(0));

__device__ __forceinline__ VERTEX parent_of(const VERTEX* component, VERTEX vertex) {
    return *reinterpret_cast<const volatile VERTEX*>(&component[vertex]);
}

// The root above a vertex, or `stop` if the walk meets it; NO_VERTEX to stop at roots alone. Stores nothing, so
// that it may run while others point vertices at their roots for good.
__device__ __forceinline__ VERTEX root_above(const VERTEX* component, VERTEX at, VERTEX stop) {
    while (true) {
        VERTEX above = parent_of(component, at);
        if (above == at || above == stop) return above;
        at = above;
    }
}

// The vertex that another hung on when the first-level cache saw it, a few steps up: no root for sure, but a vertex
// of the same tree. Where many hang on few, their requests for these would wait for each other further away.
__device__ __forceinline__ VERTEX seen_above(const VERTEX* component, VERTEX at) {
#pragma unroll
    for (u32 step = 0; step < SEEN; ++step) {
        VERTEX above = __ldca(&component[at]);
        if (above == at) break;
        at = above;
    }
    return at;
}

// The same with path halving. What it stores may be older than what it replaces: `changed` becomes true.
__device__ __forceinline__ VERTEX root_of(VERTEX* component, VERTEX at, VERTEX stop, bool& changed) {
    while (true) {
        VERTEX above = parent_of(component, at);
        if (above == at || above == stop) return above;
        VERTEX next = parent_of(component, above);
        if (next == above) return next;
        component[at] = next;
        changed = true;
        if (next == stop) return next;
        at = next;
    }
}

// Join the trees of a vertex `a` that was a root and of a vertex `b`; returns the vertex that both hang on.
__device__ __forceinline__ VERTEX join(VERTEX* component, VERTEX a, VERTEX b, VERTEX stop, bool& changed) {
    b = root_of(component, b, stop, changed);
    while (a != b) {
        VERTEX high = a > b ? a : b, low = a > b ? b : a;
        VERTEX held = atomicCAS(&component[high], high, low);
        if (held == high) {
            changed = true;
            return low;
        }
        a = root_of(component, held, stop, changed);
        b = root_of(component, low, stop, changed);
    }
    return a;
}
