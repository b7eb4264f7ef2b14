// What a block of a team wrote before an exchange of counts is read by the others after it: cells stand for claims.
//
// variants LAYOUT: csr

#define VERTEX u32
#define TREE 0
#include "kernels/bfs/cuda/sources/expand_encoded.cuh"
#include "kernels/bfs/cuda/team.cuh"

extern "C" __global__ void litmus(u64* slots, u64* cells, u64* wrong, u64 rounds) {
    __shared__ Progress p;
    if (threadIdx.x == 0) p = Progress{};
    __syncthreads();
    u64 other = (global_thread() + blockDim.x + 1) % global_threads();
    for (u64 round = 1; round <= rounds; ++round) {
        for (u32 half = 0; half < 2; ++half) {
            if (half == 0) cells[global_thread()] = round;
            if (half == 1 && cells[other] != round) atomicAdd(wrong, 1ull);
            if (threadIdx.x == 0) p.totals[0] = blockIdx.x + round;
            __syncthreads();
            if (warp_id() == 0) exchange(p, slots, gridDim.x);
            __syncthreads();
            u64 sum = gridDim.x * round + u64(gridDim.x) * (gridDim.x - 1) / 2;
            if (p.team_found != sum) atomicAdd(wrong, 1ull);
        }
    }
}
