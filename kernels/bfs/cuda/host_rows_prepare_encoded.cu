// What a search of encoded rows in host memory is made ready with; see host_rows.cu.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh with byte_offsets
// variants VERTEX: u32 u64

#include "kernels/layouts/rows.cuh"

constexpr VERTEX NO_VERTEX = VERTEX(~VERTEX(0));

// The first `count` neighbours of every row, NO_VERTEX where there are fewer; which rows have more, and which none.
// A warp takes 32 rows, one after the other, so that rows in host memory are read in ascending order.
extern "C" __global__ void find_heads(ROWS_PARAMETERS, u64 vertices, u64 count, VERTEX* heads, u32* longer, u32* closed) {
    Rows rows = make_rows(ROWS_ARGUMENTS);
    u64 words = (vertices + 31) / 32;
    for (u64 word = global_thread() / WARP; word < words; word += global_threads() / WARP) {
        u32 more = 0, none = 0;
        for (u32 k = 0; k < 32; ++k) {
            u64 row = word * 32 + k, found = 0;
            u64 units = row < vertices ? row_units(rows, row) : 0;
            if (row < vertices && lane_id() < count) heads[row * count + lane_id()] = NO_VERTEX;
            __syncwarp();
            if (units)
                visit_unit(rows, row, 0, [&](VERTEX neighbour, bool valid) {
                    u32 lanes = __ballot_sync(ALL_LANES, valid);
                    u64 place = found + __popc(lanes & lanes_below());
                    if (valid && place < count) heads[row * count + place] = neighbour;
                    found += __popc(lanes);
                    return found <= count;
                });
            more |= u32(units > 1 || found > count) << k;
            none |= u32(units == 0) << k;
        }
        if (lane_id() == 0) longer[word] = more, closed[word] = none;
    }
}
