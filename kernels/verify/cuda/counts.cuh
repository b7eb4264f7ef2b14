// How many vertices break a rule.

#include "kernels/cuda/types.cuh"

// Add what the lanes of a warp have counted; all lanes call it.
__device__ __forceinline__ void count(u64* counts, u32 rule, u32 mine) {
    const u32 sum = warp_sum(mine);
    if (lane_id() == 0 && sum) atomicAdd(&counts[rule], u64(sum));
}
