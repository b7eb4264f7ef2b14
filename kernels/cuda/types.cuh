// Integer names and small device functions that every kernel file uses.
// VERTEX, the type of a column index, is u32 or u64 (design: uint32 below 2^32 vertices).

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;

constexpr u32 WARP = 32;
constexpr u32 ALL_LANES = 0xffffffffu;

__device__ __forceinline__ u32 lane_id() { return threadIdx.x & (WARP - 1); }
__device__ __forceinline__ u32 warp_id() { return threadIdx.x / WARP; }
__device__ __forceinline__ u32 lanes_below() { return (1u << lane_id()) - 1; }

__device__ __forceinline__ u64 global_thread() { return u64(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ __forceinline__ u64 global_threads() { return u64(gridDim.x) * blockDim.x; }

// Sum of a warp's values, in every lane.
template <class T>
__device__ __forceinline__ T warp_sum(T value) {
    for (u32 step = WARP / 2; step; step /= 2) value += __shfl_xor_sync(ALL_LANES, value, step);
    return value;
}

// Sum of the values of this lane and those below it.
template <class T>
__device__ __forceinline__ T warp_inclusive_sum(T value) {
    for (u32 step = 1; step < WARP; step *= 2) {
        T below = __shfl_up_sync(ALL_LANES, value, step);
        if (lane_id() >= step) value += below;
    }
    return value;
}

// Exclusive sum over the block, and the block's total in every thread. `scratch` holds WARP + 1 values of
// shared memory; it may be used again after the next barrier.
template <class T>
__device__ __forceinline__ T block_exclusive_sum(T value, T* scratch, T& total) {
    T inclusive = warp_inclusive_sum(value);
    if (lane_id() == WARP - 1) scratch[warp_id()] = inclusive;
    __syncthreads();
    if (warp_id() == 0) {
        T of_warp = lane_id() < blockDim.x / WARP ? scratch[lane_id()] : T(0);
        T up_to = warp_inclusive_sum(of_warp);
        scratch[lane_id()] = up_to - of_warp;
        if (lane_id() == WARP - 1) scratch[WARP] = up_to;
    }
    __syncthreads();
    total = scratch[WARP];
    T result = scratch[warp_id()] + inclusive - value;
    __syncthreads();
    return result;
}
