// Row source: rows in a layout of kernels/layouts, decoded where they are read. See search.cuh for what a source says.
//
// A row is what its layout can read independently: row_units(v) units, of which each is an entry
// vertex << UNIT_BITS | unit. A row of LIGHT_WEIGHT or less is the entry WHOLE_ROW, which a lane may read alone.
// Weights are bytes or arcs as the layout has it; `Tuning` brings limits that are given in arcs to that scale.

#include "kernels/bfs/cuda/labels.cuh"
#include "kernels/layouts/cursor.cuh"

constexpr u32 UNIT_BITS = sizeof(VERTEX) == 4 ? 32 : 28;
constexpr u64 WHOLE_ROW = (1ull << UNIT_BITS) - 1;
// Fewer than columns take, since decoding needs more registers than 64.
constexpr u32 MAX_THREADS = sizeof(VERTEX) == 4 ? 768 : 512;
constexpr bool DEFER_ROWS = true;  // decoding leaves room for what kernels/bfs/cuda/pull.cuh may do without
// Code that decodes is long, and each copy of it is another part of what compiling takes.
constexpr bool ONE_PUSH = true, ONE_HAND_OVER = true;
constexpr bool SKIPS_EMPTY = true;
constexpr bool KEEPS_OWNERS = false;

struct Entry {
    u64 word;
    VERTEX owner;
};

struct Extent {
    u64 weight;
};

struct Row {
    u64 bytes;    // or arcs: its weight
    u32 entries;  // 1 for a short row
    VERTEX vertex;

    __device__ __forceinline__ u64 weight() const { return bytes; }
    __device__ __forceinline__ bool is_short() const { return entries == 1; }
    __device__ __forceinline__ bool is_long() const { return entries > 1; }
    // In 64 bits, since 32 rows of the largest graphs may have more than 2^32 units.
    __device__ __forceinline__ u64 units() const { return entries; }
    __device__ __forceinline__ void drop() { entries = 0; }
};

__device__ __forceinline__ Extent read_extent(const Rows& rows, VERTEX vertex) { return {row_weight(rows, vertex)}; }

// Units are looked up only where there may be more than one.
__device__ __forceinline__ u64 entries_of(const Rows& rows, VERTEX vertex, u64 weight) {
    return weight <= LIGHT_WEIGHT ? weight != 0 : row_units(rows, vertex);
}

__device__ __forceinline__ Row claimed_row(const Rows& rows, const Extent& extent, VERTEX vertex, bool claimed) {
    return {claimed ? extent.weight : 0, claimed ? u32(entries_of(rows, vertex, extent.weight)) : 0, vertex};
}

__device__ __forceinline__ Row listed_row(const Rows&, VERTEX vertex) { return {0, 0, vertex}; }

__device__ __forceinline__ u64 all_units(const Rows& rows, const Row& row) { return row_units(rows, row.vertex); }

__device__ __forceinline__ Row row_of_lane(const Row& row, u32 lane) {
    return {0, 0, __shfl_sync(ALL_LANES, row.vertex, lane)};
}

__device__ __forceinline__ Entry part_entry(const Row& row, u64 unit) {
    return {u64(row.vertex) << UNIT_BITS | unit, row.vertex};
}

__device__ __forceinline__ Entry whole_entry(const Row& row) {
    return part_entry(row, row.bytes <= LIGHT_WEIGHT ? WHOLE_ROW : 0);
}
