// Brandes' algorithm by searches side by side, each by one block with a queue, levels, path counts and shares of its
// own: on deep graphs the machine is filled by searches and not by levels. The CPU twin is kernels/betweenness/brandes.py,
// whose c(v) is `share` here.
//
// A vertex takes its sums from the row of its neighbours, in the order of that row, and `add_vertices` or `add_arcs` adds
// the searches in the order of their sources: no float is added by an atomic, so results are equal to the last bit.
//
// Contract. Fewer than 2^32 vertices. row_offsets i64 (vertices + 1), columns VERTEX. Per search: `level` u32, NONE before,
// `queue` VERTEX, `paths` and `share` f64, all (vertices). `reached` u32 (searches). `infinite` u32 receives the smallest
// search whose paths are infinite. Block: whole warps.
//
// variants VERTEX: u32 u64
// variants ARCS: 0 1

#include "kernels/cuda/lanes.cuh"

constexpr i64 ALONE = 64;  // arcs of a row that a lane reads alone; a warp reads longer ones
constexpr u32 NONE = ~0u;
constexpr double LARGEST = 1.7976931348623157e308;

// Calls `commit` for each vertex of the queue in [head, end) with the sum of the values of its neighbours on a level.
template <class Commit>
__device__ __forceinline__ void gather(const i64* row_offsets, const VERTEX* columns, const VERTEX* queue, u32 head, u32 end,
                                       const u32* level, u32 wanted, const double* values, Commit commit) {
    u32 whole = head + (end - head + WARP - 1) / WARP * WARP;
    for (u32 i = head + threadIdx.x; i < whole; i += blockDim.x) {
        u64 v = i < end ? u64(queue[i]) : 0;
        i64 begin = i < end ? row_offsets[v] : 0, stop = i < end ? row_offsets[v + 1] : 0;
        double sum = 0;
        if (stop - begin <= ALONE)
            for (i64 k = begin; k < stop; ++k)
                if (level[columns[k]] == wanted) sum += values[columns[k]];
        u32 left = __ballot_sync(ALL_LANES, stop - begin > ALONE);
        while (left) {
            u32 from = take_lowest(left);
            i64 first = __shfl_sync(ALL_LANES, begin, from), last = __shfl_sync(ALL_LANES, stop, from);
            double part = 0;
            for (i64 k = first + lane_id(); k < last; k += WARP)
                if (level[columns[k]] == wanted) part += values[columns[k]];
            part = warp_sum(part);
            if (lane_id() == from) sum = part;
        }
        if (i < end) commit(v, sum);
    }
}

// Puts the neighbours of the queue in [head, end) that are on no level yet on level `depth`, and into the queue.
__device__ __forceinline__ void expand(const i64* row_offsets, const VERTEX* columns, VERTEX* queue, u32 head, u32 end,
                                       u32* level, u32 depth, u32* tail) {
    auto visit = [&](VERTEX v) {
        // A stale level is only NONE where another thread has set it.
        if (level[v] == NONE && atomicCAS(&level[v], NONE, depth) == NONE) queue[atomicAdd(tail, 1u)] = v;
    };
    u32 whole = head + (end - head + WARP - 1) / WARP * WARP;
    for (u32 i = head + threadIdx.x; i < whole; i += blockDim.x) {
        u64 u = i < end ? u64(queue[i]) : 0;
        i64 begin = i < end ? row_offsets[u] : 0, stop = i < end ? row_offsets[u + 1] : 0;
        if (stop - begin <= ALONE)
            for (i64 k = begin; k < stop; ++k) visit(columns[k]);
        u32 left = __ballot_sync(ALL_LANES, stop - begin > ALONE);
        while (left) {
            u32 from = take_lowest(left);
            i64 first = __shfl_sync(ALL_LANES, begin, from), last = __shfl_sync(ALL_LANES, stop, from);
            for (i64 k = first + lane_id(); k < last; k += WARP) visit(columns[k]);
        }
    }
}

// The workspace of one search.
struct Space {
    u32* level;
    VERTEX* queue;
    double *paths, *share;
};

// Returns how many vertices are reached, and their largest distance in `depth`.
__device__ __forceinline__ u32 go_forward(const i64* row_offsets, const VERTEX* columns, const i64* back_offsets,
                                          const VERTEX* back_columns, u64 source, const Space& own, u32 search, u32* tail,
                                          u32* infinite, u32& depth) {
    if (threadIdx.x == 0) {
        own.queue[0] = VERTEX(source);
        own.level[source] = 0;
        own.paths[source] = 1;
        *tail = 1;
    }
    __syncthreads();
    depth = 0;
    for (u32 head = 0, end = 1;; ++depth) {
        expand(row_offsets, columns, own.queue, head, end, own.level, depth + 1, tail);
        __syncthreads();
        head = end;
        end = *tail;
        // All have read the tail before anybody adds to it.
        __syncthreads();
        if (head == end) return end;
        gather(back_offsets, back_columns, own.queue, head, end, own.level, depth, own.paths, [&](u64 v, double sum) {
            own.paths[v] = sum;
            if (sum > LARGEST) atomicMin(infinite, search);
        });
        __syncthreads();
    }
}

__device__ __forceinline__ void go_back(const i64* row_offsets, const VERTEX* columns, u32 end, u32 depth, const Space& own,
                                        u32* begin) {
    while (true) {
        if (threadIdx.x == 0) {
            // Levels ascend along the queue.
            u32 low = 0, high = end;
            while (low < high) {
                u32 middle = low + (high - low) / 2;
                if (own.level[own.queue[middle]] < depth) low = middle + 1;
                else high = middle;
            }
            *begin = low;
        }
        __syncthreads();
        u32 head = *begin;
        gather(row_offsets, columns, own.queue, head, end, own.level, depth + 1, own.share, [&](u64 v, double sum) {
            own.share[v] = 1 / own.paths[v] + sum;
            if (!ARCS) own.paths[v] *= sum;
        });
        end = head;
        __syncthreads();
        if (depth-- == 0) return;
    }
}

// A block takes searches in turn, and leaves the shares of the vertices of each; without ARCS, what a vertex got is left
// in its place of `paths`.
extern "C" __global__ void search(const i64* row_offsets, const VERTEX* columns, const i64* back_offsets,
                                  const VERTEX* back_columns, u64 vertices, const i64* sources, u32 searches, u32* levels,
                                  VERTEX* queues, double* paths, double* shares, u32* reached, u32* infinite) {
    __shared__ u32 tail;
    __shared__ u32 begin;
    for (u32 s = blockIdx.x; s < searches; s += gridDim.x) {
        u64 first = s * vertices;
        Space own{levels + first, queues + first, paths + first, shares + first};
        u32 depth;
        u32 end = go_forward(row_offsets, columns, back_offsets, back_columns, u64(sources[s]), own, s, &tail, infinite, depth);
        if (threadIdx.x == 0) reached[s] = end;
        go_back(row_offsets, columns, end, depth, own, &begin);
    }
}

// Adds what each vertex got in each search.
extern "C" __global__ void add_vertices(u64 vertices, u32 searches, const u32* levels, const double* got, const u32* reached,
                                        u32 endpoints, double* sums) {
    for (u64 v = global_thread(); v < vertices; v += global_threads()) {
        double sum = sums[v];
        for (u32 s = 0; s < searches; ++s) {
            u32 level = levels[s * vertices + v];
            if (level == NONE) continue;
            if (level) sum += got[s * vertices + v] + (endpoints ? 1.0 : 0.0);
            else if (endpoints) sum += double(reached[s] - 1);
        }
        sums[v] = sum;
    }
}

// Adds what each arc got in each search.
extern "C" __global__ void add_arcs(const i64* row_offsets, const VERTEX* columns, u64 vertices, u32 searches,
                                    const u32* levels, const double* paths, const double* shares, double* sums) {
    for (u64 v = global_thread() / WARP; v < vertices; v += global_threads() / WARP)
        for (i64 k = row_offsets[v] + lane_id(); k < row_offsets[v + 1]; k += WARP) {
            u64 w = columns[k];
            double sum = sums[k];
            for (u32 s = 0; s < searches; ++s) {
                u64 own = s * vertices;
                u32 level = levels[own + v];
                if (level != NONE && levels[own + w] == level + 1) sum += paths[own + v] * shares[own + w];
            }
            sums[k] = sum;
        }
}
