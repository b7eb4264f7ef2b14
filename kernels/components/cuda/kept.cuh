// What the device knows of rows that lie elsewhere, beside their heads: the first neighbours of every row, `most` of
// those that have more, and which rows are longer than what is known.
//
// longer u32 (vertices / 32, rounded up) is null where every row is near and read whole; offsets i64 (vertices + 1)
// and columns VERTEX are null, and most 0, where the heads are all that is known.

#include "kernels/components/cuda/sweep.cuh"

constexpr i64 BY_LANE = 32;  // kept neighbours that a lane joins before its warp helps

struct Kept {
    const u32* longer;
    const i64* offsets;
    const VERTEX* columns;
    u64 most;
};

#define KEPT_PARAMETERS const u32 *kept_longer, const i64 *kept_offsets, const VERTEX *kept_columns, u64 kept_most
#define KEPT Kept{kept_longer, kept_offsets, kept_columns, kept_most}

// Join what is kept of one vertex's row per lane, each with the vertex that it hangs on; whether its other neighbours
// still matter. All lanes call it.
__device__ __forceinline__ bool join_kept(Forest& forest, const Kept& kept, VERTEX v, VERTEX& root, bool live) {
    i64 at = live ? kept.offsets[v] : 0, end = live ? kept.offsets[u64(v) + 1] : 0;
    i64 stop = end - at < BY_LANE ? end : at + BY_LANE;
    for (; at < stop; ++at) {
        VERTEX u = kept.columns[at];
        if (forest.once && u >= v) live = false;
        if (live && u < forest.vertices) {
            root = join_arc(forest, parent_of(forest.component, root), u);
            live = !in_giant(forest, root);
        }
        if (!live) at = stop = end;
    }
    __syncwarp();
    u32 left = __ballot_sync(ALL_LANES, at < end);
    while (left) {
        u32 from = __ffs(left) - 1;
        left &= left - 1;
        i64 last = __shfl_sync(ALL_LANES, end, from);
        VERTEX row = __shfl_sync(ALL_LANES, v, from), top = __shfl_sync(ALL_LANES, root, from);
        bool over = false;
        for (i64 i = __shfl_sync(ALL_LANES, at, from); i < last && !over; i += WARP) {
            bool done = false;
            if (i + lane_id() < last) {
                VERTEX u = kept.columns[i + lane_id()];
                done = forest.once && u >= row;
                if (!done && u < forest.vertices) {
                    top = join_arc(forest, parent_of(forest.component, top), u);
                    done = in_giant(forest, top);
                }
            }
            over = __any_sync(ALL_LANES, done);
        }
        if (lane_id() == from) {
            root = top;
            live = !over;
        }
    }
    return live;
}
