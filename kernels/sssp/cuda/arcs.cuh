// What kernels of weighted searches share: distances as words, and the arcs of many rows on a grid or on one block.
//
// WORD, u32 or u64, has the order of distances: integers themselves, or the bits of a float64 that is not negative.
// VERTEX is the type of a column index.

#include "kernels/cuda/exact.cuh"
#include "kernels/cuda/grid_barrier.cuh"
#include "kernels/cuda/lanes.cuh"

constexpr i64 ALONE = 32;   // arcs that a lane relaxes before its warp helps
constexpr i64 HUB = 512;    // arcs from which a whole block sees to a row
constexpr i64 HUGE = 32768; // arcs from which all blocks do

template <class T>
__device__ __forceinline__ T now(const T* address) {
    return *reinterpret_cast<const volatile T*>(address);
}

__device__ __forceinline__ WORD lengthened(WORD word, float weight) {
    return WORD(__double_as_longlong(__longlong_as_double(i64(word)) + exactly(weight)));
}

__device__ __forceinline__ WORD lengthened(WORD word, u32 weight) { return word + WORD(weight); }

__device__ __forceinline__ double length_of(WORD word, float) { return __longlong_as_double(i64(word)); }
__device__ __forceinline__ double length_of(WORD word, u32) { return double(word); }

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

// A place behind a counter for each lane that calls, with one addition for all that do so together.
template <class T>
__device__ __forceinline__ T place_behind(T* counter) {
    const u32 together = __activemask(), first = __ffs(together) - 1;
    T place = 0;
    if (lane_id() == first) place = atomicAdd(counter, T(__popc(together)));
    return __shfl_sync(together, place, first) + __popc(together & lanes_below());
}

constexpr i64 FOUR = 4;  // arcs that a lane has under way: what it loads of them does not wait for one another

// What a lane loads of arcs first, first + stride and so on below end, FOUR at most: their ends, and the words of the
// ways along them. `open` says which there are.
template <class Weights>
__device__ __forceinline__ void load_four(const VERTEX* columns, const Weights* weights, WORD word, i64 first,
                                          i64 stride, i64 end, VERTEX (&v)[FOUR], WORD (&longer)[FOUR],
                                          bool (&open)[FOUR]) {
#pragma unroll
    for (i64 k = 0; k < FOUR; ++k) {
        open[k] = first + k * stride < end;
        if (!open[k]) continue;
        v[k] = columns[first + k * stride];
        longer[k] = lengthened(word, weights[first + k * stride]);
    }
}

// Calls relax(v, longer) for arcs first, first + stride and so on below end, FOUR at most, that shorten the way to
// their end: `longer` is its word then.
template <class Weights, class Relax>
__device__ __forceinline__ void relax_four(const VERTEX* columns, const Weights* weights, WORD* words, WORD word,
                                           i64 first, i64 stride, i64 end, Relax relax) {
    VERTEX v[FOUR];
    WORD longer[FOUR];
    bool shorter[FOUR];
    load_four(columns, weights, word, first, stride, end, v, longer, shorter);
    // Most arcs shorten nothing. A word that was read before others made it smaller costs an atomic, and nothing else.
#pragma unroll
    for (i64 k = 0; k < FOUR; ++k) shorter[k] = shorter[k] && longer[k] < words[v[k]];
#pragma unroll
    for (i64 k = 0; k < FOUR; ++k) shorter[k] = shorter[k] && longer[k] < atomicMin(&words[v[k]], longer[k]);
#pragma unroll
    for (i64 k = 0; k < FOUR; ++k)
        if (shorter[k]) relax(v[k], longer[k]);
}

// Calls visit(u, first, stride, end), which sees to FOUR arcs, for all arcs of a vertex in each lane that are not too
// many for it: up to ALONE by the lane, the rest by its warp.
template <class Visit>
__device__ __forceinline__ void arcs_of_warp(VERTEX u, i64 at, i64 end, Visit visit) {
    i64 stop = end - at < ALONE ? end : at + ALONE;
    for (; at < stop; at += FOUR) visit(u, at, i64(1), stop);
    at = stop;
    __syncwarp();
    u32 left = __ballot_sync(ALL_LANES, at < end);
    while (left) {
        u32 from = take_lowest(left);
        i64 last = __shfl_sync(ALL_LANES, end, from);
        VERTEX row = __shfl_sync(ALL_LANES, u, from);
        i64 arc = __shfl_sync(ALL_LANES, at, from) + lane_id();
        for (; arc < last; arc += FOUR * WARP) visit(row, arc, i64(WARP), last);
        __syncwarp();
    }
}

// The same for all arcs of the `size` vertices that `vertex` names: long rows by warps, those of hubs by blocks, and the
// longest by the whole group. Ends with a barrier. found[0] and found[1] are 0 before and after; `hubs` has room for
// arcs / HUB + 1 vertices, `room`.
template <class Vertex, class Visit>
__device__ __forceinline__ void each_four(const Group& group, const i64* row_offsets, u64 size, VERTEX* hubs, u64 room,
                                          u64* found, Vertex vertex, Visit visit) {
    const u64 warps = group.count / WARP;
    for (u64 base = 0; base < size; base += group.count) {
        // Where there are fewer vertices than threads, every warp takes some.
        const u64 i = size - base < group.count ? base + lane_id() * warps + group.first / WARP : base + group.first;
        VERTEX u = 0;
        bool live = i < size && vertex(i, u);
        i64 at = live ? row_offsets[u] : 0, end = live ? row_offsets[u64(u) + 1] : 0;
        if (end - at >= HUB) {
            if (group.arrivals && end - at >= HUGE) hubs[room - 1 - atomicAdd(&found[1], 1ull)] = u;
            else hubs[atomicAdd(&found[0], 1ull)] = u;
            at = end;
        }
        arcs_of_warp(u, at, end, visit);
    }
    group.meet();
    const u64 count = now(&found[0]), huge = now(&found[1]);
    if (!count && !huge) return;
    const u64 blocks = group.arrivals ? gridDim.x : 1;
    for (u64 i = group.arrivals ? blockIdx.x : 0; i < count; i += blocks) {
        VERTEX u = now(&hubs[i]);
        i64 end = row_offsets[u64(u) + 1], stride = blockDim.x;
        for (i64 arc = row_offsets[u] + threadIdx.x; arc < end; arc += FOUR * stride) visit(u, arc, stride, end);
    }
    for (u64 i = 0; i < huge; ++i) {
        VERTEX u = now(&hubs[room - 1 - i]);
        i64 end = row_offsets[u64(u) + 1], stride = i64(group.count);
        for (i64 arc = row_offsets[u] + i64(group.first); arc < end; arc += FOUR * stride) visit(u, arc, stride, end);
    }
    group.meet();
    if (group.leads()) found[0] = found[1] = 0;
    group.meet();
}

// Calls visit(u, arc) for all of these arcs.
template <class Vertex, class Visit>
__device__ __forceinline__ void each_arc(const Group& group, const i64* row_offsets, u64 size, VERTEX* hubs, u64 room,
                                         u64* found, Vertex vertex, Visit visit) {
    each_four(group, row_offsets, size, hubs, room, found, vertex, [&](VERTEX u, i64 first, i64 stride, i64 end) {
        for (i64 arc = first; arc < end && arc < first + FOUR * stride; arc += stride) visit(u, arc);
    });
}
