// passes.cu with rows that the first lane of a warp decodes for it.

#define ONE_LANE 1
#include "kernels/papers/moschou/passes.cu"
// variants LAYOUT: varint
