// Rows of the layout that the macro LAYOUT names, read by lanes: each its own row, 32 side by side, and each may
// stop where it likes. For short rows, and for searches that end at the first hit; see rows.cuh for warps.
//
//   LIGHT_WEIGHT                    row_weight up to which a row has one unit and is best read by a lane
//   struct Cursor                   a place in a row; registers alone
//   open_row(rows, v)               the place before the first neighbour of row v
//   next_neighbour(rows, cursor, neighbour)   reads the next one; false, and nothing read, behind the last one
//                                   of the row, or of its first unit
//   skip_neighbours(cursor, count)  moves on over so many neighbours if rows are of RANDOM_ACCESS, else stays
//
// Neither is collective. On any bytes no word is read that holds nothing of the row, loops end, and a neighbour
// is below the bound; others are passed over.

#include "kernels/layouts/rows.cuh"

#include "kernels/layouts/{LAYOUT}/cursor.cuh"
