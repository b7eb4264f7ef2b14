// The bijection of kernels/generate/rmat.py on the numbers below 2^scale; `constants` are its edge_constants.

#include "kernels/generate/counter.cuh"

__device__ __forceinline__ u64 label(u64 vertex, i32 scale, const u64* __restrict__ constants) {
    const u64 mask = (1ull << scale) - 1;
    const i32 shift = max(1, (scale + 1) / 2);
    const u64 rounds = constants[4];
    for (u64 index = 0; index < rounds; index++) {
        vertex = (vertex * constants[5 + 2 * index] + constants[6 + 2 * index]) & mask;
        vertex ^= vertex >> shift;
    }
    return vertex;
}
