// Checkpoints of long varint rows (kernels/layouts/varint/rows.cuh), found by one warp per row.
//
// Contract: byte_offsets i64 (rows + 1), stream u8; checkpoints VERTEX (one per UNIT_BYTES of the stream), zeroed.
//
// variants VERTEX: u32 u64

#include "kernels/cuda/lanes.cuh"
#include "kernels/layouts/varint/rows.cuh"

extern "C" __global__ void find_checkpoints(const i64* byte_offsets, const u8* stream, u64 vertices, VERTEX* checkpoints) {
    for (u64 base = (global_thread() - lane_id()); base < vertices; base += global_threads()) {
        u64 v = base + lane_id();
        bool is_long = v < vertices && u64(byte_offsets[v + 1] - byte_offsets[v]) > UNIT_BYTES;
        u32 rows = __ballot_sync(ALL_LANES, is_long);
        while (rows) {
            u32 from = take_lowest(rows);
            u64 at = u64(byte_offsets[base + from]), end = u64(byte_offsets[base + from + 1]);
            VarintState state{0, 0};
            VERTEX ended = VERTEX(0);  // the neighbour whose number ends last before `at`
            // The first step ends where 32 divides the place, so that every later cut begins a step.
            for (u32 count = WARP - u32(at % WARP); at < end; at += count, count = WARP) {
                if (at % UNIT_BYTES == 0 && lane_id() == 0) checkpoints[at / UNIT_BYTES] = ended;
                if (end - at < count) count = u32(end - at);
                VarintStep found = varint_step(state, lane_id() < count ? stream[at + lane_id()] : 0, count);
                if (found.ends) ended = __shfl_sync(ALL_LANES, found.neighbour, 31 - __clz(i32(found.ends)));
            }
        }
    }
}
