// Streamed rows that are encoded: a part is a range of rows with the bytes that hold them (kernels/layouts/parts.py),
// which is copied whole, so that no lines are marked. kernels/layouts/part.cuh decodes it.
//
// Contract. Rows as in kernels/layouts/rows.cuh, but their stream is the bytes of a part from byte `base` on, a
// multiple of 128, in whole lines; part_rows i64 (parts + 1), their first rows; long_rows VERTEX, the rows of more
// than LONG_BYTES, ascending.

#include "kernels/layouts/part.cuh"

__device__ __forceinline__ HostRows state(const i64* byte_offsets, u32* visited, u32* frontier, u32* next, i32* distance,
                                          u64* keys, u64* control, u64 vertices) {
    HostRows s{};
    s.row_offsets = byte_offsets;
    s.visited = visited, s.frontier = frontier, s.next = next;
    s.distance = distance, s.keys = keys, s.control = control;
    s.vertices = vertices, s.words = (vertices + 31) / 32;
    return s;
}

#define STATE_PARAMETERS                                                                                               \
    const i64 *byte_offsets, u32 *visited, u32 *frontier, u32 *next, i32 *distance, u64 *keys, i64 *predecessor,      \
        u64 *control, u64 vertices
#define STATE state(byte_offsets, visited, frontier, next, distance, keys, control, vertices)

// Say of each part how many of its rows are in the frontier and have bytes.
extern "C" __global__ void count_parts(STATE_PARAMETERS, const i64* part_rows, u64 parts, u32* counts) {
    for (u64 part = blockIdx.x; part < parts; part += gridDim.x) {
        u64 low = u64(part_rows[part]), high = u64(part_rows[part + 1]);
        u32 count = 0;
        for (u64 word = low / 32 + threadIdx.x; word * 32 < high; word += blockDim.x)
            for (u32 bits = frontier[word]; bits; bits &= bits - 1) {
                u64 row = word * 32 + __ffs(bits) - 1;
                count += row >= low && row < high && byte_offsets[row + 1] > byte_offsets[row];
            }
        add_part(counts, part, count);
    }
}

extern "C" __global__ void push_part(STATE_PARAMETERS, ROWS_PARAMETERS, u64 base, u64 first, u64 last,
                                     const VERTEX* long_rows, u64 long_begin, u64 long_end, u64 depth, u64* ticket) {
    HostRows s = STATE;
    Rows rows = make_rows(ROWS_ARGUMENTS);
    rows.stream -= base;
    RowRange range{first, last, long_rows, long_begin, long_end};
    decode_range(rows, range, ticket, [&](u64 word) { return s.frontier[word]; },
                 [&](VERTEX row, VERTEX neighbour, bool valid) {
                     if (valid && !test_bit(s.visited, neighbour)) claim(s, neighbour, row, u32(depth));
                 });
}
