// BFS over encoded rows that come part by part while it runs: the steps of a level as launches of their own, between
// which the host reads parts and copies them to the device. A part is a range of rows with the bytes that hold them
// (kernels/layouts/parts.py). See kernels/bfs/host_rows.cuh for the state, of which no lines are marked here: a part
// is copied whole. kernels/layouts/part.cuh decodes it.
//
// Contract. Rows as in kernels/layouts/rows.cuh, but their stream is the bytes of a part from byte `base` on, a
// multiple of 128, in whole lines; part_rows i64 (parts + 1), their first rows; long_rows VERTEX, the rows of more
// than LONG_BYTES, ascending. The host zeroes the CONTROL words before end_level, and a ticket before each push_part.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh with byte_offsets
// variants VERTEX: u32 u64
// variants TREE: 0 32 33

#define ROWS_OF_BYTES
#include "kernels/bfs/host_rows.cuh"
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

extern "C" __global__ void begin(STATE_PARAMETERS, u64 source) { begin_search(STATE, source); }

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
        count = warp_sum(count);
        if (threadIdx.x == 0) counts[part] = 0;
        __syncthreads();
        if (lane_id() == 0 && count) atomicAdd(&counts[part], count);
        __syncthreads();
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

extern "C" __global__ void end_level(STATE_PARAMETERS) { turn(STATE); }

extern "C" __global__ void finish(STATE_PARAMETERS) { write_wide(keys, distance, predecessor, vertices); }
