// Status look-up alone (Merrill, Garland, Grimshaw, PPoPP 2012, section 4.2): the vertices of an edge frontier
// are looked up with one of the combinations of kernels/bfs/cuda/lookup.cuh, and nothing is written but bits,
// labels and how many were taken for fresh. Beside it what makes an edge frontier, and what counts its
// distinct vertices.
//
// Contract. edges VERTEX (count). bitmask u32 and distance i32 as lookup.cuh has them, from one level to the
// next. fresh u64, added to. Blocks of 32 to 1024 threads stride over the edges; shared memory of a look-up:
// culling_bytes (parts.py).
//
// variants VERTEX: u32 u64

#define TREE 0
#include "kernels/bfs/cuda/lookup.cuh"
#include "kernels/papers/merrill2012/probes/tiles.cuh"

constexpr u32 PER_THREAD = 4;  // edges that a thread looks up together, as in two_phase.cu

template <u32 PARTS>
__device__ __forceinline__ void look_up_edges(const VERTEX* __restrict__ edges, u64 count, u32* bitmask,
                                              i32* distance, u32 depth, u64* fresh) {
    extern __shared__ u64 memory[];
    const Culling culling{memory, reinterpret_cast<u8*>(memory + HISTORY)};
    const Status status{bitmask, distance, nullptr};
    if (PARTS & LOOK_HISTORY) culling.clear();
    __syncthreads();
    u64 found = 0;
    u64 tile_edges = u64(blockDim.x) * PER_THREAD;
    for (u64 tile = blockIdx.x * tile_edges; tile < count; tile += gridDim.x * tile_edges) {
        VERTEX vertex[PER_THREAD], parent[PER_THREAD];
        bool live[PER_THREAD];
#pragma unroll
        for (u32 k = 0; k < PER_THREAD; ++k) {
            u64 i = tile + k * blockDim.x + threadIdx.x;
            live[k] = i < count;
            vertex[k] = live[k] ? edges[i] : VERTEX(0);
            parent[k] = 0;
        }
        look_up<PER_THREAD>(PARTS, status, culling, vertex, parent, depth, live);
#pragma unroll
        for (u32 k = 0; k < PER_THREAD; ++k) found += live[k];
    }
    add_up(found, fresh);
}

#define LOOK_UP(name, PARTS)                                                                                   \
    extern "C" __global__ void __launch_bounds__(1024, 1)                                                         \
        name(const VERTEX* edges, u64 count, u32* bitmask, i32* distance, u32 depth, u64* fresh) {             \
        look_up_edges<PARTS>(edges, count, bitmask, distance, depth, fresh);                                   \
    }

LOOK_UP(bitmask, LOOK_BITMASK)
LOOK_UP(label, LOOK_BITMASK | LOOK_LABEL)
LOOK_UP(warp_culling, LOOK_BITMASK | LOOK_LABEL | LOOK_WARP)
LOOK_UP(history_culling, LOOK_BITMASK | LOOK_LABEL | LOOK_WARP | LOOK_HISTORY)
LOOK_UP(atomic, LOOK_BITMASK | LOOK_ATOMIC)

// Row r goes to edges[places[r]] and on; a warp copies a row.
extern "C" __global__ void list_neighbours(const longlong2* ranges, const i64* places, const VERTEX* columns,
                                           u64 rows, VERTEX* edges) {
    for (u64 row = global_thread() / WARP; row < rows; row += global_threads() / WARP) {
        longlong2 range = ranges[row];
        for (i64 k = lane_id(); k < range.y - range.x; k += WARP) edges[places[row] + k] = columns[range.x + k];
    }
}

// stamps i32 (vertices), none of them `level`; adds to counts[0] the distinct vertices, to counts[1] vertex + 1
// of every edge.
extern "C" __global__ void distinct_neighbours(const VERTEX* edges, u64 count, i32 level, i32* stamps, u64* counts) {
    u64 distinct = 0, sum = 0;
    for (u64 i = global_thread(); i < count; i += global_threads()) {
        VERTEX vertex = edges[i];
        sum += u64(vertex) + 1;
        if (stamps[vertex] != level && atomicExch(&stamps[vertex], level) != level) ++distinct;
    }
    add_up(distinct, &counts[0]);
    __syncthreads();
    add_up(sum, &counts[1]);
}
