// The row source that the macro LAYOUT names: columns, or rows that are decoded where they are read. A kernel takes
// SOURCE_PARAMETERS, and SOURCE makes its Rows.

#include "kernels/bfs/cuda/labels.cuh"
#include "kernels/layouts/is_columns.cuh"

#if IS_COLUMNS(LAYOUT)
#include "kernels/bfs/cuda/sources/columns.cuh"
#define SOURCE_PARAMETERS COLUMNS_PARAMETERS
#define SOURCE {row_offsets, columns}
#else
#include "kernels/bfs/cuda/sources/encoded.cuh"
#define SOURCE_PARAMETERS ROWS_PARAMETERS
#define SOURCE make_rows(ROWS_ARGUMENTS)
#endif
