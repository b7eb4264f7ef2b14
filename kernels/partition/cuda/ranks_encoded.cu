// The search of kernels/partition/cuda/ranks.cu over ranks whose rows are encoded in the layout that the macro LAYOUT names;
// see encoded.cuh. Vertices take 32 bits, and offsets 64, so that there are fewer variants.
//
// variants LAYOUT: kernels/layouts/*/rows.cuh with byte_offsets

#define ENCODED 1
#include "kernels/layouts/rows.cuh"
#include "kernels/partition/cuda/encoded.cuh"
#include "kernels/partition/cuda/ranks.cu"
// variants OFFSET: u64
// variants VERTEX: u32
