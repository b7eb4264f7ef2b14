// Rows of the layout that the macro LAYOUT names (csr, varint, ...), read by warps.
//
// A kernel takes ROWS_PARAMETERS, for which `gravel.kernels.layouts.device_rows` gives the arguments, and begins with
// `Rows rows = make_rows(ROWS_ARGUMENTS);`. One that reads two sets of rows takes ROWS_PARAMETERS_AS(hot),
// ROWS_PARAMETERS_AS(cold) and so on. Each layout's header defines
//
//   struct Rows                     pointers and numbers alone; may be copied and kept in other structs
//   row_weight(rows, v)             bytes or neighbours of row v, for balancing; loads two offsets
//   row_units(rows, v)              units of row v that can be read on their own; 0 only for a row without neighbours
//   visit_unit(rows, v, unit, visit)  all 32 lanes of a warp call it with equal arguments, unit < row_units.
//                                   Calls visit(VERTEX neighbour, bool valid), all lanes in step, with up to
//                                   32 neighbours a call; they ascend over the lanes and from call to call. visit
//                                   returns, the same in all lanes, whether to go on; visit_unit what it returned last.
//
//   visit_units(rows, v, unit, active, visit)  each active lane brings a unit of its own. Calls visit(u32 lane, VERTEX
//                                   neighbour, bool valid), all lanes in step, with the neighbours of all of them in
//                                   any order; `lane` is the one that brought the unit. Much faster than one visit_unit
//                                   after the other where rows are short.
//   MAX_IN_UNIT                    neighbours that a unit has at most
//   RANDOM_ACCESS                   whether units have MAX_IN_UNIT neighbours each, but the last one of a row
//
// One whose rows are a stream of bytes also names byte_offsets and stream in Rows; kernels that read parts of a stream
// take those alone.
//
// On any bytes nothing outside the row's words is read, loops end, and a valid neighbour is below the bound.

#include "kernels/layouts/{LAYOUT}/rows.cuh"

#define ROWS_PARAMETERS ROWS_PARAMETERS_AS(rows)
#define ROWS_ARGUMENTS ROWS_ARGUMENTS_AS(rows)
