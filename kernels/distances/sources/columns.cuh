// Row source of searches from many sources: plain columns. See bit_parallel.cu for what a source says.

#include "kernels/cuda/pieces.cuh"

#define SOURCE_PARAMETERS const i64 *row_offsets, const VERTEX *columns
#define SOURCE {row_offsets, columns}

struct Rows {
    const i64* row_offsets;
    const VERTEX* columns;
};

// Arcs of a row.
struct Stretch {
    i64 begin, end;
};

__device__ __forceinline__ const i64* offsets_of(const Rows& rows) { return rows.row_offsets; }

__device__ __forceinline__ Stretch whole_row(u64, i64 begin, i64 end) { return {begin, end}; }

__device__ __forceinline__ Stretch piece_of(const Rows& rows, u64 v, i64 begin, u64 length) {
    return {begin, piece_end(rows.row_offsets, v, begin, length)};
}

__device__ __forceinline__ Stretch stretch_of_lane(const Stretch& own, u32 lane) {
    return {__shfl_sync(ALL_LANES, own.begin, lane), __shfl_sync(ALL_LANES, own.end, lane)};
}

template <class Visit>
__device__ __forceinline__ void visit_together(const Rows& rows, const Stretch& stretch, const Visit& visit) {
    for (i64 k = stretch.begin; k < stretch.end; k += WARP) {
        i64 at = k + lane_id();
        if (!visit(at < stretch.end ? rows.columns[at] : VERTEX(0), at < stretch.end)) return;
    }
}

#if WORDS == 2

// The best on an H100 at Kronecker 20 and 22, by less than a tenth.
constexpr u32 ALONE = 32;        // arcs of a row that a lane pulls along by itself,
constexpr u32 ALONE_PUSHED = 8;  // or pushes along
constexpr u32 MAX_BLOCK = 256, FEWEST_BLOCKS = 4;

template <class Go, class Look>
__device__ __forceinline__ void look_alone(const Rows& rows, Stretch& left, const Go& go, const Look& look) {
    i64 alone = left.end - left.begin > i64(ALONE) ? left.begin + ALONE : left.end;
    for (; left.begin < alone && go(); left.begin += AHEAD) {
        VERTEX neighbour[AHEAD];
        bool there[AHEAD];
#pragma unroll
        for (u32 i = 0; i < AHEAD; ++i) {
            there[i] = left.begin + i < left.end;
            neighbour[i] = there[i] ? rows.columns[left.begin + i] : VERTEX(0);
        }
        look(neighbour, there);
    }
}

template <class Visit>
__device__ __forceinline__ void visit_alone(const Rows& rows, Stretch& left, const Visit& visit) {
    i64 alone = left.end - left.begin > i64(ALONE_PUSHED) ? left.begin + ALONE_PUSHED : left.end;
    for (; left.begin < alone; ++left.begin) visit(rows.columns[left.begin]);
}

#elif WORDS

template <class Visit>
__device__ __forceinline__ void visit_first_lanes(const Rows& rows, const Stretch& stretch, u32 lane, const Visit& visit) {
    for (i64 k = stretch.begin; k < stretch.end; k += LANES) {
        i64 at = k + lane;
        VERTEX neighbour = at < stretch.end ? rows.columns[at] : VERTEX(0);
        visit(neighbour, stretch.end - k < i64(LANES) ? u32(stretch.end - k) : LANES);
    }
}

#endif
