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
//
// On any bytes nothing outside the row's words is read, loops end, and a valid neighbour is below the bound.

// Included here, since an include goes where it comes first, and that must be in no branch.
#include "kernels/layouts/chunks.cuh"
#include "kernels/varint/step.cuh"

#define LAYOUT_NUMBER_csr 1
#define LAYOUT_NUMBER_varint 2
#define LAYOUT_NUMBER_blocks 3
#define LAYOUT_NUMBER_elias_fano 4
#define LAYOUT_NUMBER(name) LAYOUT_NUMBER_##name
#define LAYOUT_NUMBER_OF(macro) LAYOUT_NUMBER(macro)

#if LAYOUT_NUMBER_OF(LAYOUT) == 1
#include "kernels/layouts/csr.cuh"
#elif LAYOUT_NUMBER_OF(LAYOUT) == 2
#include "kernels/layouts/varint.cuh"
#elif LAYOUT_NUMBER_OF(LAYOUT) == 3
#include "kernels/layouts/blocks.cuh"
#elif LAYOUT_NUMBER_OF(LAYOUT) == 4
#include "kernels/layouts/elias_fano.cuh"
#endif

#define ROWS_PARAMETERS ROWS_PARAMETERS_AS(rows)
#define ROWS_ARGUMENTS ROWS_ARGUMENTS_AS(rows)
