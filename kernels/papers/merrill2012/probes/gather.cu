// Neighbour gathering alone (Merrill, Garland, Grimshaw, PPoPP 2012, section 4.1): a level's rows are read
// from preprocessed row ranges with one of the gathers of kernels/bfs/cuda/gather.cuh, and nothing is written but
// a sum, for which every neighbour must have been read.
//
// Contract. ranges i64 (rows, 2), where each row begins and ends in columns VERTEX. next is null, or a zero
// for blocks that take tiles (see tiles.cuh). checksum u64, to which column + 1 is added for every arc. A tile
// has a row for every thread of a block of 32 to 1024 threads; shared memory: gather_bytes (parts.py).
//
// variants VERTEX: u32 u64

#include "kernels/bfs/cuda/gather.cuh"
#include "kernels/papers/merrill2012/probes/tiles.cuh"

struct Sum {
    static constexpr u32 BATCH = 4;
    static constexpr bool OWNERS = false;
    const VERTEX* __restrict__ columns;
    u64 sum;

    __device__ __forceinline__ void operator()(const Gathered<BATCH>& items) {
        VERTEX column[BATCH];
#pragma unroll
        for (u32 k = 0; k < BATCH; ++k) column[k] = items.live[k] ? __ldg(&columns[items.arc[k]]) : VERTEX(0);
#pragma unroll
        for (u32 k = 0; k < BATCH; ++k) sum += items.live[k] ? u64(column[k]) + 1 : 0;
    }
};

template <u32 NAME>
__device__ __forceinline__ void gather_rows(const longlong2* ranges, const VERTEX* columns, u64 rows, u64* next,
                                            u64* checksum) {
    extern __shared__ i64 listed[];
    __shared__ GatherShared shared;
    if (threadIdx.x == 0) shared.arcs = listed;
    __syncthreads();
    const GatherWay way = gather_way(NAME);
    constexpr bool measured = NAME == GATHER_SCAN || NAME == GATHER_SCAN_WARP_CTA;
    Sum visit{columns, 0};
    each_tile((rows + blockDim.x - 1) / blockDim.x, next, [&](u64 tile) {
        u64 row = tile * blockDim.x + threadIdx.x;
        longlong2 range = row < rows ? ranges[row] : longlong2{0, 0};
        i64 length = range.y - range.x;
        Measured sums = measured ? measure(way, length, shared) : Measured{0, 0, 0, 0};
        gather(way, range.x, length, VERTEX(0), sums, shared, visit);
    });
    add_up(visit.sum, checksum);
}

#define GATHER(name, NAME)                                                                                     \
    extern "C" __global__ void __launch_bounds__(1024, 1)                                                         \
        name(const longlong2* ranges, const VERTEX* columns, u64 rows, u64* next, u64* checksum) {             \
        gather_rows<NAME>(ranges, columns, rows, next, checksum);                                              \
    }

GATHER(serial, GATHER_SERIAL)
GATHER(warp, GATHER_WARP)
GATHER(scan, GATHER_SCAN)
GATHER(scan_warp_cta, GATHER_SCAN_WARP_CTA)
