// The baseline of Moschou 2024, section 2.2: one lane of a warp decodes delta-varint rows.

#include "kernels/layouts/varint/bytes.cu"

// One lane decodes up to 32 neighbours into shared memory, then all lanes store them.
extern "C" __global__ void read_rows_serially(const i64* byte_offsets, const u8* stream, const i64* row_offsets,
                                              u64 rows, u64 largest, VERTEX* columns, u64* faults) {
    __shared__ VERTEX decoded[WARP][WARP];
    for (u64 row = global_thread() / WARP; row < rows; row += global_threads() / WARP) {
        i64 place = byte_offsets[row], first = row_offsets[row], end = row_offsets[row + 1];
        u64 value = 0;
        for (; first < end; first += WARP) {
            u32 count = end - first < WARP ? u32(end - first) : WARP;
            if (lane_id() == 0) {
                for (u32 i = 0; i < count; ++i) {
                    u64 gap = 0, k = 0, byte;
                    do {
                        byte = stream[place++];
                        if (k >= GROUPS || (k == 9 && (byte & 127) > 1)) {
                            report(faults, row, TOO_LARGE);
                        } else {
                            gap |= (byte & 127) << 7 * k;
                        }
                        ++k;
                    } while (byte >= 128);
                    value += gap;
                    if (value < gap) report(faults, row, TOO_LARGE);
                    if (value > largest) report(faults, row, OUT_OF_RANGE);
                    decoded[warp_id()][i] = VERTEX(value);
                }
            }
            __syncwarp();
            if (lane_id() < count) columns[first + lane_id()] = decoded[warp_id()][lane_id()];
            __syncwarp();
        }
    }
}
