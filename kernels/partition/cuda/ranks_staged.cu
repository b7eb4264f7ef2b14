// The search of kernels/partition/cuda/ranks.cu with masks reduced in rounds and vertices exchanged within groups first; see
// staged.cuh. Offsets take 64 bits, so that there are fewer variants.
// spills 340: as ranks.cu, and what stages need between them

#define STAGED 1
#include "kernels/partition/cuda/ranks.cu"
// variants OFFSET: u64
