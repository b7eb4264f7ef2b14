// A lane's place in a row of columns.

#include "kernels/layouts/csr/rows.cuh"

constexpr u64 LIGHT_WEIGHT = 64;  // neighbours: two steps of a warp

struct Cursor {
    i64 arc, end;
};

__device__ __forceinline__ Cursor open_row(const Rows& rows, u64 v) {
    return Cursor{rows.row_offsets[v], rows.row_offsets[v + 1]};
}

__device__ __forceinline__ void skip_neighbours(Cursor& cursor, u64 count) { cursor.arc += i64(count); }

__device__ __forceinline__ bool next_neighbour(const Rows& rows, Cursor& cursor, VERTEX& neighbour) {
    while (cursor.arc < cursor.end) {
        VERTEX read = rows.columns[cursor.arc++];
        if (u64(read) < rows.bound) {
            neighbour = read;
            return true;
        }
    }
    return false;
}
