// Rows that are too long for one warp: they are cut into pieces, of which each is examined by a warp.

constexpr u32 LONG = 2048;  // arcs of the longest row that one warp examines, and of a piece of a longer one

// The piece of a row, as the host lists them: the row, its place among long rows, and the number of the piece.
struct Piece {
    u32 row, place, number, unused;
};

// List the rows of more than LONG arcs in any order, each with the number of its pieces; *found counts them.
extern "C" __global__ void list_long_rows(const i64* offsets, u64 rows, u32* list, u32* found) {
    for (u64 row = global_thread(); row < rows; row += global_threads()) {
        const u64 arcs = offsets[row + 1] - offsets[row];
        if (arcs <= LONG) continue;
        const u64 place = atomicAdd(found, 1u);
        list[2 * place] = u32(row);
        list[2 * place + 1] = u32((arcs + LONG - 1) / LONG);
    }
}
