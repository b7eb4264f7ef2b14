// Row source: plain columns, CSR with 64-bit offsets. See search.cuh for what a source says.
//
// An entry is a stretch of up to CHUNK columns, begin << LENGTH_BITS | length - 1, so that expanding it reads no
// offsets. It does not name its vertex, which predecessors need: that lies beside it.

#include "kernels/bfs/cuda/labels.cuh"

constexpr u32 MAX_THREADS = 1024;
constexpr u32 CHUNK = 128;  // arcs of a queue entry; at most 1024, the entry's 10 bits
constexpr u32 LENGTH_BITS = 10;
constexpr bool ONE_PUSH = false, ONE_HAND_OVER = false;
constexpr bool SKIPS_EMPTY = false;
constexpr bool KEEPS_OWNERS = TREE;

#define COLUMNS_PARAMETERS const i64 *row_offsets, const VERTEX *columns

struct Rows {
    const i64* row_offsets;
    const VERTEX* columns;
};

struct Entry {
    u64 word;
    VERTEX owner;
};

struct Extent {
    i64 begin, end;
};

struct Row {
    i64 begin, degree;
    VERTEX vertex;

    __device__ __forceinline__ u64 weight() const { return u64(degree); }
    __device__ __forceinline__ bool is_short() const { return degree > 0; }  // of rows that are not long
    __device__ __forceinline__ bool is_long() const { return degree > CHUNK; }
    __device__ __forceinline__ u32 units() const { return u32((degree + CHUNK - 1) / CHUNK); }
    __device__ __forceinline__ void drop() { degree = 0; }
};

__device__ __forceinline__ Extent read_extent(const Rows& rows, VERTEX vertex) {
    return {__ldg(&rows.row_offsets[vertex]), __ldg(&rows.row_offsets[u64(vertex) + 1])};
}

__device__ __forceinline__ u64 row_weight(const Rows& rows, u64 vertex) {
    return u64(rows.row_offsets[vertex + 1] - rows.row_offsets[vertex]);
}

__device__ __forceinline__ Row claimed_row(const Rows&, const Extent& extent, VERTEX vertex, bool claimed) {
    return {extent.begin, claimed ? extent.end - extent.begin : 0, vertex};
}

__device__ __forceinline__ Row listed_row(const Rows& rows, VERTEX vertex) {
    i64 begin = rows.row_offsets[vertex];
    return {begin, rows.row_offsets[u64(vertex) + 1] - begin, vertex};
}

__device__ __forceinline__ u64 all_units(const Rows&, const Row& row) { return (u64(row.degree) + CHUNK - 1) / CHUNK; }

__device__ __forceinline__ Row row_of_lane(const Row& row, u32 lane) {
    return {__shfl_sync(ALL_LANES, row.begin, lane), __shfl_sync(ALL_LANES, row.degree, lane),
            __shfl_sync(ALL_LANES, row.vertex, lane)};
}

__device__ __forceinline__ u64 entry_word(i64 begin, u32 length) { return u64(begin) << LENGTH_BITS | (length - 1); }

__device__ __forceinline__ Entry whole_entry(const Row& row) {
    return {entry_word(row.begin, u32(row.degree)), row.vertex};
}

__device__ __forceinline__ Entry part_entry(const Row& row, u64 unit) {
    i64 offset = i64(unit) * CHUNK, left = row.degree - offset;
    return {entry_word(row.begin + offset, left < CHUNK ? u32(left) : CHUNK), row.vertex};
}
