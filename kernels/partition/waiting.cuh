// Rows that wait until a warp has enough of them to read them side by side.

#include "kernels/partition/rank.cuh"

constexpr u32 WAITING = 64;  // rows of a warp that are read at once, two by each lane
constexpr u32 LOOKS = 1;     // quads of a lane that look at once
constexpr u32 MOST_WARPS = 16;

// The rows of this warp that wait: fewer than WAITING, and those that the quads of each lane add.
__device__ __forceinline__ u32* waiting_rows() {
    __shared__ u32 rows[MOST_WARPS][WAITING + LOOKS * QUAD * WARP];
    return rows[warp_id()];
}
