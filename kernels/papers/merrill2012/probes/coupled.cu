// Gathering and look-up in one kernel (Merrill, Garland, Grimshaw, PPoPP 2012, section 4.3): every neighbour
// that the gather by scan, warp and block reads is looked up at once, and no edge frontier is written.
//
// Contract. As gather.cu and lookup.cu have them; shared memory: the culling's, then the gather list.
//
// variants VERTEX: u32 u64

#define TREE 0
#include "kernels/bfs/cuda/gather.cuh"
#include "kernels/bfs/cuda/lookup.cuh"
#include "kernels/papers/merrill2012/probes/tiles.cuh"

template <u32 PARTS>
struct LookUpGathered {
    static constexpr u32 BATCH = 4;
    static constexpr bool OWNERS = false;
    const VERTEX* __restrict__ columns;
    Status status;
    Culling culling;
    u32 depth;
    u64 fresh;

    __device__ __forceinline__ void operator()(const Gathered<BATCH>& items) {
        VERTEX vertex[BATCH], parent[BATCH];
        bool live[BATCH];
#pragma unroll
        for (u32 k = 0; k < BATCH; ++k) {
            live[k] = items.live[k];
            vertex[k] = live[k] ? __ldg(&columns[items.arc[k]]) : VERTEX(0);
            parent[k] = 0;
        }
        look_up<BATCH>(PARTS, status, culling, vertex, parent, depth, live);
#pragma unroll
        for (u32 k = 0; k < BATCH; ++k) fresh += live[k];
    }
};

template <u32 PARTS>
__device__ __forceinline__ void couple(const longlong2* ranges, const VERTEX* columns, u64 rows, u64* next,
                                       u32* bitmask, i32* distance, u32 depth, u64* fresh) {
    extern __shared__ u64 memory[];
    __shared__ GatherShared shared;
    const Culling culling{memory, reinterpret_cast<u8*>(memory + HISTORY)};
    if (PARTS & LOOK_HISTORY) culling.clear();
    if (threadIdx.x == 0)
        shared.arcs = reinterpret_cast<i64*>(memory + HISTORY + blockDim.x / WARP * WARP_HASH / sizeof(u64));
    __syncthreads();
    const GatherWay way = gather_way(GATHER_SCAN_WARP_CTA);
    LookUpGathered<PARTS> visit{columns, {bitmask, distance, nullptr}, culling, depth, 0};
    each_tile((rows + blockDim.x - 1) / blockDim.x, next, [&](u64 tile) {
        u64 row = tile * blockDim.x + threadIdx.x;
        longlong2 range = row < rows ? ranges[row] : longlong2{0, 0};
        i64 length = range.y - range.x;
        Measured sums = measure(way, length, shared);
        gather(way, range.x, length, VERTEX(0), sums, shared, visit);
    });
    add_up(visit.fresh, fresh);
}

#define COUPLE(name, PARTS)                                                                                    \
    extern "C" __global__ void __launch_bounds__(1024, 1)                                                         \
        name(const longlong2* ranges, const VERTEX* columns, u64 rows, u64* next, u32* bitmask, i32* distance, \
             u32 depth, u64* fresh) {                                                                          \
        couple<PARTS>(ranges, columns, rows, next, bitmask, distance, depth, fresh);                           \
    }

COUPLE(label, LOOK_BITMASK | LOOK_LABEL)
COUPLE(history_culling, LOOK_BITMASK | LOOK_LABEL | LOOK_WARP | LOOK_HISTORY)
COUPLE(atomic, LOOK_BITMASK | LOOK_ATOMIC)
