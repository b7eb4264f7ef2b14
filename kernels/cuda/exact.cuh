// Weights as doubles, the smallest included.

#include "kernels/cuda/types.cuh"

// A float that is not negative. CuPy compiles with -ftz=true, by which a conversion reads subnormal numbers as zero.
__device__ __forceinline__ double exactly(float weight) {
    const u32 bits = __float_as_uint(weight);
    return bits < 0x00800000u ? double(bits) * 0x1p-149 : double(weight);
}
__device__ __forceinline__ i64 exactly(i32 weight) { return weight; }
__device__ __forceinline__ i64 exactly(u32 weight) { return weight; }
