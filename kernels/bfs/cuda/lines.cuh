// Walking the marked lines of columns in ascending order, wherever they lie.
//
// Warps take words of the bitmap of lines from a counter, so that all of them read within a small, rising
// window. A lane finds the row of its column by bisection among the rows of its word.

#include "kernels/bfs/cuda/host_rows.cuh"

constexpr u32 AT_ONCE = 8;  // lines that a warp has under way

// Where a line lies. `base` is the column that `columns` begins with: not 0 where a part of them is there.
__device__ __forceinline__ const VERTEX* line_at(const HostRows& s, u64 word, u32 bit, u32 here, u64 base) {
    if (here >> bit & 1) return s.kept + (u64(s.kept_before[word]) + __popc(here & low_bits(bit))) * LINE;
    return s.columns + (word * SPAN + bit * LINE - base);
}

// The last row that begins at or before `place`, of the rows `low` to `high`.
__device__ __forceinline__ u64 row_of(const HostRows& s, u64 low, u64 high, i64 place) {
    while (low < high) {
        u64 middle = (low + high + 1) / 2;
        if (s.row_offsets[middle] <= place)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

// Call visit(neighbour, place, low, high) for the columns of all marked lines of words `first` to below `last`, a
// lane each, and take the marks away; the row of `place` is one of `low` to `high`. `width` words go to a warp at
// once, at most 32.
template <class Visit>
__device__ __forceinline__ void walk(const HostRows& s, u64* ticket, u64 first, u64 last, u32 width, u64 base,
                                     Visit visit) {
    while (true) {
        u64 at = 0;
        if (lane_id() == 0) at = atomicAdd(ticket, 1ull);
        at = first + __shfl_sync(ALL_LANES, at, 0) * width;
        if (at >= last) return;
        u32 own = 0;
        if (lane_id() < width && at + lane_id() < last) {
            own = s.lines[at + lane_id()];
            if (own) s.lines[at + lane_id()] = 0;
        }
        each_word(s, at, own, [&](u64 word, u32 bits, u32 here) {
            u64 low = s.first_rows[word], high = s.first_rows[word + 1];
            while (bits) {
                VERTEX neighbour[AT_ONCE];
                u64 line[AT_ONCE];
                bool live[AT_ONCE];
#pragma unroll
                for (u32 k = 0; k < AT_ONCE; ++k) {
                    u32 bit = bits ? __ffs(bits) - 1 : 0;
                    line[k] = word * LINES + bit;
                    live[k] = bits && line[k] * LINE + lane_id() < s.arcs;
                    neighbour[k] = live[k] ? line_at(s, word, bit, here, base)[lane_id()] : VERTEX(0);
                    bits &= bits - 1;
                }
#pragma unroll
                for (u32 k = 0; k < AT_ONCE; ++k)
                    if (live[k]) visit(neighbour[k], i64(line[k] * LINE + lane_id()), low, high);
            }
        });
    }
}

// Top-down: the columns of the frontier's rows are claimed.
__device__ __forceinline__ void push_lines(const HostRows& s, u64* ticket, u64 first, u64 last, u32 width, u64 base,
                                           u32 depth) {
    walk(s, ticket, first, last, width, base, [&](VERTEX neighbour, i64 place, u64 low, u64 high) {
        if (test_bit(s.visited, neighbour)) return;
        u64 row = row_of(s, low, high, place);
        if (test_bit(s.frontier, row)) claim(s, neighbour, VERTEX(row), depth);
    });
}
