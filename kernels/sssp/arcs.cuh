// What kernels of weighted searches share: distances as words, and the arcs of many rows on a grid or on one block.
//
// WORD, u32 or u64, has the order of distances: integers themselves, or the bits of a float64 that is not negative.
// VERTEX is the type of a column index.

#include "kernels/cuda/grid_barrier.cuh"

constexpr i64 ALONE = 32;  // arcs that a lane relaxes before its warp helps
constexpr i64 HUB = 4096;  // arcs from which a row is split over the group

template <class T>
__device__ __forceinline__ T now(const T* address) {
    return *reinterpret_cast<const volatile T*>(address);
}

__device__ __forceinline__ WORD lengthened(WORD word, float weight) {
    return WORD(__double_as_longlong(__longlong_as_double(i64(word)) + double(weight)));
}

__device__ __forceinline__ WORD lengthened(WORD word, u32 weight) { return word + WORD(weight); }

// Those who work together: the whole grid, or a block.
struct Group {
    u64 first, count;
    u64* arrivals;  // null for a block

    __device__ __forceinline__ void meet() const {
        if (arrivals)
            grid_barrier(arrivals);
        else
            __syncthreads();
    }
    __device__ __forceinline__ bool leads() const { return first == 0; }
};

// Calls visit(u, arc) for all arcs of the `size` vertices that `vertex` names, long rows by warps and the longest by
// the whole group. Ends with a barrier. *found is 0 before and after; `hubs` has room for arcs / HUB vertices.
template <class Vertex, class Visit>
__device__ __forceinline__ void each_arc(const Group& group, const i64* row_offsets, u64 size, VERTEX* hubs, u64* found,
                                         Vertex vertex, Visit visit) {
    for (u64 base = group.first - lane_id(); base < size; base += group.count) {
        u64 i = base + lane_id();
        VERTEX u = 0;
        bool live = i < size && vertex(i, u);
        i64 at = live ? row_offsets[u] : 0, end = live ? row_offsets[u64(u) + 1] : 0;
        if (end - at >= HUB) {
            hubs[atomicAdd(found, 1ull)] = u;
            at = end;
        }
        i64 stop = end - at < ALONE ? end : at + ALONE;
        for (; at < stop; ++at) visit(u, at);
        __syncwarp();
        u32 left = __ballot_sync(ALL_LANES, at < end);
        while (left) {
            u32 from = __ffs(left) - 1;
            left &= left - 1;
            i64 last = __shfl_sync(ALL_LANES, end, from);
            VERTEX row = __shfl_sync(ALL_LANES, u, from);
            for (i64 arc = __shfl_sync(ALL_LANES, at, from) + lane_id(); arc < last; arc += WARP) visit(row, arc);
            __syncwarp();
        }
    }
    group.meet();
    u64 count = now(found);
    if (!count) return;
    for (u64 i = 0; i < count; ++i) {
        VERTEX u = now(&hubs[i]);
        i64 end = row_offsets[u64(u) + 1];
        for (i64 arc = row_offsets[u] + i64(group.first); arc < end; arc += i64(group.count)) visit(u, arc);
    }
    group.meet();
    if (group.leads()) *found = 0;
    group.meet();
}
