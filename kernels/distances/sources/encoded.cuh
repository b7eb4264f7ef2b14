// Row source of searches from many sources: rows in a layout of kernels/layouts, decoded where they are read. See
// bit_parallel.cu for what a source says. Lanes read light rows by a cursor each, warps others a unit at a time.

#include "kernels/layouts/cursor.cuh"

#define SOURCE_PARAMETERS ROWS_PARAMETERS
#define SOURCE make_rows(ROWS_ARGUMENTS)

constexpr i64 ALL_UNITS = i64(~0ull >> 1);  // their number is looked up where a warp reads them

// Units of a row; a light row is one.
struct Stretch {
    u64 vertex;
    i64 begin, end;
};

__device__ __forceinline__ const i64* offsets_of(const Rows& rows) { return rows.byte_offsets; }

__device__ __forceinline__ Stretch whole_row(u64 v, i64 begin, i64 end) {
    return {v, 0, u64(end - begin) <= LIGHT_WEIGHT ? end > begin : ALL_UNITS};
}

// Its share of the row's units: pieces are cut by bytes, of which units have any number.
__device__ __forceinline__ Stretch piece_of(const Rows& rows, u64 v, i64 begin, u64 length) {
    u64 pieces = (row_weight(rows, v) + length - 1) / length, piece = u64(begin - rows.byte_offsets[v]) / length;
    u64 units = row_units(rows, v);
    return {v, i64(units * piece / pieces), i64(units * (piece + 1) / pieces)};
}

__device__ __forceinline__ Stretch stretch_of_lane(const Stretch& own, u32 lane) {
    return {__shfl_sync(ALL_LANES, own.vertex, lane), __shfl_sync(ALL_LANES, own.begin, lane),
            __shfl_sync(ALL_LANES, own.end, lane)};
}

template <class Visit>
__device__ __forceinline__ void visit_together(const Rows& rows, const Stretch& stretch, const Visit& visit) {
    i64 units = stretch.end == ALL_UNITS ? i64(row_units(rows, stretch.vertex)) : stretch.end;
    for (i64 unit = stretch.begin; unit < units; ++unit)
        if (!visit_unit(rows, stretch.vertex, u64(unit), visit)) return;
}

#if WORDS == 2

constexpr u32 ALONE = 32;        // neighbours of a row that a lane pulls along by itself, as of columns
constexpr u32 SIDE_BY_SIDE = 4;  // light rows from which lanes push along them, as in kernels/bfs/cuda/sources/decoded.cuh
constexpr u32 MAX_BLOCK = 256, FEWEST_BLOCKS = 2;  // decoding needs more registers than 64

// A row whose first neighbours are not enough is read from its start again: that costs less than to skip over them.
template <class Go, class Look>
__device__ __forceinline__ void look_alone(const Rows& rows, Stretch& left, const Go& go, const Look& look) {
    bool more = left.begin < left.end;
    Cursor cursor{};
    if (more) cursor = open_row(rows, left.vertex);
    for (u32 tried = 0; more && tried < ALONE && go(); tried += AHEAD) {
        VERTEX neighbour[AHEAD];
        bool there[AHEAD];
#pragma unroll
        for (u32 i = 0; i < AHEAD; ++i) {
            neighbour[i] = VERTEX(0);
            there[i] = more = more && next_neighbour(rows, cursor, neighbour[i]);
        }
        look(neighbour, there);
    }
    if (!more) left.begin = left.end < 1 ? left.end : 1;
}

template <class Visit>
__device__ __forceinline__ void visit_alone(const Rows& rows, Stretch& left, const Visit& visit) {
    bool light = left.end == 1;
    if (__popc(__ballot_sync(ALL_LANES, light)) < SIDE_BY_SIDE || !light) return;
    Cursor cursor = open_row(rows, left.vertex);
    VERTEX neighbour = VERTEX(0);
    while (next_neighbour(rows, cursor, neighbour)) visit(neighbour);
    left.begin = left.end;
}

#else

// The place of set bit `rank` of a word that has more.
__device__ __forceinline__ u32 place_of_bit(u32 word, u32 rank) {
    u32 place = 0;
#pragma unroll
    for (u32 step = WARP / 2; step; step /= 2)
        if (u32(__popc(word & ((1u << (place + step)) - 1))) <= rank) place += step;
    return place;
}

template <class Visit>
__device__ __forceinline__ void visit_first_lanes(const Rows& rows, const Stretch& stretch, u32 lane, const Visit& visit) {
    visit_together(rows, stretch, [&](VERTEX neighbour, bool valid) {
        u32 lanes = __ballot_sync(ALL_LANES, valid);
        visit(__shfl_sync(ALL_LANES, neighbour, place_of_bit(lanes, lane)), u32(__popc(lanes)));
        return true;
    });
}

#endif
