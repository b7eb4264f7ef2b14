// The counter-based random function of kernels/generate/counter.py: SplitMix64's output function.

#include "kernels/cuda/types.cuh"

constexpr u64 STEP = 0x9E3779B97F4A7C15ull;

__device__ __forceinline__ u64 mix(u64 value) {
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
    return value ^ (value >> 31);
}
