// The search of kernels/partition/cuda/ranks.cu over ranks whose columns may lie in host memory; see placed.cuh.
// Offsets take 64 bits, so that there are fewer variants.

#define PLACED 1
#include "kernels/partition/cuda/ranks.cu"
// variants OFFSET: u64
