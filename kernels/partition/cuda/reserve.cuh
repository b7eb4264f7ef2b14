// Places in the queues of a level. A warp asks once for all of its words: they are counted at one address, where atomics
// wait for each other.

#include "kernels/partition/cuda/rank.cuh"

// Where the places of this warp begin in each of N queues, of which it wants `wanted` and whose ends are in `tails`.
template <u32 N>
__device__ __forceinline__ void reserve(const u64 (&wanted)[N], u64* const (&tails)[N], u64 (&begin)[N]) {
#pragma unroll
    for (u32 k = 0; k < N; ++k) begin[k] = lane_id() == 0 && wanted[k] ? atomicAdd(tails[k], wanted[k]) : 0;
#pragma unroll
    for (u32 k = 0; k < N; ++k) begin[k] = __shfl_sync(ALL_LANES, begin[k], 0);
}

constexpr u64 TOO_MANY = 1ull << 40;  // of a tail: more than places

// The same for all warps of a block, which ask once. Whole blocks call it. A
// block that wants more than `most` places gets none, and its queue is TOO_MANY.
template <u32 N>
__device__ __forceinline__ void reserve_together(const u64 (&wanted)[N], const u32 (&most)[N], u64* const (&tails)[N], u64 (&begin)[N]) {
    __shared__ u32 before[N][WARP];  // this warp's among those of its block
    __shared__ u64 first[N];
    if (lane_id() == 0)
        for (u32 k = 0; k < N; ++k) before[k][warp_id()] = u32(wanted[k]);
    __syncthreads();
    for (u32 k = warp_id(); k < N; k += blockDim.x / WARP) {
        u32 own = lane_id() < blockDim.x / WARP ? before[k][lane_id()] : 0, upto = warp_inclusive_sum(own);
        if (lane_id() == WARP - 1 && upto)
            first[k] = upto > most[k] ? atomicOr(tails[k], TOO_MANY) | TOO_MANY : atomicAdd(tails[k], u64(upto));
        before[k][lane_id()] = upto - own;
    }
    __syncthreads();
#pragma unroll
    for (u32 k = 0; k < N; ++k) begin[k] = first[k] + before[k][warp_id()];
}

// List the bits that lanes hold, of words from number `first` on, from place `begin` on; gives the place after them.
__device__ __forceinline__ u64 list_bits(u32* queue, u64 begin, u64 first, u32 bits) {
    u32 upto = warp_inclusive_sum(u32(__popc(bits))), all = __shfl_sync(ALL_LANES, upto, WARP - 1);
    for (u32 some = __ballot_sync(ALL_LANES, bits != 0); some; some &= some - 1) {
        u32 from = __ffs(some) - 1, word = __shfl_sync(ALL_LANES, bits, from);
        u32 before = __shfl_sync(ALL_LANES, upto, from) - __popc(word);
        if (word >> lane_id() & 1) queue[begin + before + __popc(word & lanes_below())] = u32(first + from) * 32 + lane_id();
    }
    return begin + all;
}
