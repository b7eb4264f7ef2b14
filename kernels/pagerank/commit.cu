// The end of an iteration of PageRank: new ranks from the sums that were pulled, what each vertex passes on along an arc
// of weight 1, the L1 distance to the ranks before, and the rank of dangling vertices.
//
// A block takes groups of VERTICES vertices, and `finish` adds up the groups in one order, so that the totals do not depend
// on the schedule.
//
// Contract: f64 (vertices) are sums, inverse (0 where dangling), ranks, shares; teleport and leak are, too, or have one value
// for all with a stride of 0. totals f64 (2): the residual, and the rank of dangling vertices. parts f64 (2, groups). Blocks
// of whole warps, up to MAX_WARPS of them; one block for `finish`.

#include "kernels/cuda/types.cuh"

constexpr u32 MAX_WARPS = 8;
constexpr u32 VERTICES = 1024;  // gravel.kernels.pagerank.sizes.VERTICES

// The sums of a block's values, in thread 0.
__device__ __forceinline__ void add_up(double& residual, double& dangling) {
    __shared__ double of_warps[2][MAX_WARPS];
    residual = warp_sum(residual);
    dangling = warp_sum(dangling);
    if (lane_id() == 0) {
        of_warps[0][warp_id()] = residual;
        of_warps[1][warp_id()] = dangling;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (u32 warp = 1; warp < blockDim.x / WARP; ++warp) {
            residual += of_warps[0][warp];
            dangling += of_warps[1][warp];
        }
    }
    __syncthreads();
}

extern "C" __global__ void commit(u64 vertices, u64 groups, double damping, const double* teleport, u64 teleport_stride,
                                  const double* leak, u64 leak_stride, const double* inverse, const double* totals,
                                  const double* sums, double* ranks, double* shares, double* parts) {
    double lost = totals[1];
    for (u64 group = blockIdx.x; group < groups; group += gridDim.x) {
        double residual = 0, dangling = 0;
        u64 end = (group + 1) * VERTICES < vertices ? (group + 1) * VERTICES : vertices;
        for (u64 v = group * VERTICES + threadIdx.x; v < end; v += blockDim.x) {
            double factor = inverse[v], jumps = (1 - damping) * teleport[v * teleport_stride];
            double found = damping * (sums[v] + lost * leak[v * leak_stride]) + jumps;
            double change = found - ranks[v];
            residual += change < 0 ? -change : change;
            ranks[v] = found;
            shares[v] = found * factor;
            if (factor == 0) dangling += found;
        }
        add_up(residual, dangling);
        if (threadIdx.x == 0) {
            parts[group] = residual;
            parts[groups + group] = dangling;
        }
    }
}

extern "C" __global__ void finish(const double* parts, u64 groups, double* totals) {
    double residual = 0, dangling = 0;
    for (u64 i = threadIdx.x; i < groups; i += blockDim.x) {
        residual += parts[i];
        dangling += parts[groups + i];
    }
    add_up(residual, dangling);
    if (threadIdx.x == 0) {
        totals[0] = residual;
        totals[1] = dangling;
    }
}
