// Decodes rows of a range whose bytes lie in a buffer: a part of a stream that was copied to the device.
//
// Warps take words of 32 rows from a counter, so that all work within a small, rising window, and read the units
// of the 32 rows side by side. Rows of more than LONG_BYTES are left to all warps, unit by unit; of rows that have
// one unit however long they are (varint without checkpoints) each goes to another warp.
//
// Lines of a part keep their places, hence a row is read with its offsets, through a pointer moved by the part's
// first byte: `stream` of the Rows is the buffer less that byte.

#include "kernels/layouts/rows.cuh"

constexpr u64 LONG_BYTES = 4096;  // gravel.kernels.layouts.parts.LONG_BYTES

// Rows first to below last, and those of more than LONG_BYTES among them: long_rows[long_begin .. long_end).
struct RowRange {
    u64 first, last;
    const VERTEX* long_rows;
    u64 long_begin, long_end;
};

// Call visit(row, neighbour, valid), lanes in step, for the neighbours of all rows whose bit chosen(row / 32) has.
// `ticket` is zero before.
template <class Chosen, class Visit>
__device__ __forceinline__ void decode_range(const Rows& rows, const RowRange& range, u64* ticket, Chosen chosen,
                                             Visit visit) {
    u64 low = range.first / 32, high = (range.last + 31) / 32;
    while (true) {
        u64 word = 0;
        if (lane_id() == 0) word = atomicAdd(ticket, 1ull);
        word = low + __shfl_sync(ALL_LANES, word, 0);
        if (word >= high) break;
        u32 bits = chosen(word);
        if (word == low) bits &= ~0u << range.first % 32;
        if (word == range.last / 32) bits &= (1u << range.last % 32) - 1;
        if (!bits) continue;
        u64 vertex = word * 32 + lane_id();
        bool mine = bits >> lane_id() & 1 && row_weight(rows, vertex) <= LONG_BYTES;
        u64 units = mine ? row_units(rows, vertex) : 0;
        for (u64 unit = 0; __any_sync(ALL_LANES, unit < units); ++unit)
            visit_units(rows, vertex, unit, unit < units, [&](u32 lane, VERTEX neighbour, bool valid) {
                visit(VERTEX(word * 32 + lane), neighbour, valid);
            });
    }
    u64 warp = u64(warp_id()) * gridDim.x + blockIdx.x, warps = global_threads() / WARP;
    for (u64 base = range.long_begin; base < range.long_end; base += WARP) {
        u64 place = base + lane_id();
        VERTEX row = place < range.long_end ? range.long_rows[place] : VERTEX(0);
        u32 some = __ballot_sync(ALL_LANES, place < range.long_end && chosen(row / 32) >> row % 32 & 1);
        while (some) {
            u32 lane = __ffs(some) - 1;
            some &= some - 1;
            VERTEX vertex = __shfl_sync(ALL_LANES, row, lane);
            u64 units = row_units(rows, vertex);
            for (u64 unit = (warp + base + lane) % warps; unit < units; unit += warps)
                visit_unit(rows, vertex, unit, [&](VERTEX neighbour, bool valid) {
                    visit(vertex, neighbour, valid);
                    return true;
                });
        }
    }
}
