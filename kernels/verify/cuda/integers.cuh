// Labels as they come: integers of any width, signed or not, and -1 for none.

#include "kernels/cuda/types.cuh"

constexpr u32 UNSIGNED = 16;  // beside the bytes of a number in its `kind`

__device__ __forceinline__ i64 integer_at(const void* values, u32 kind, u64 place) {
    switch (kind) {
        case 1: return static_cast<const signed char*>(values)[place];
        case 2: return static_cast<const short*>(values)[place];
        case 4: return static_cast<const i32*>(values)[place];
        case 1 | UNSIGNED: return static_cast<const u8*>(values)[place];
        case 2 | UNSIGNED: return static_cast<const unsigned short*>(values)[place];
        case 4 | UNSIGNED: return static_cast<const u32*>(values)[place];
        default: return static_cast<const i64*>(values)[place];
    }
}
