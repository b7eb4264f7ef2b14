// The search of kernels/partition/cuda/ranks.cu whose nn arcs are culled and sorted as by Merrill, Garland and Grimshaw; see
// culled.cuh. Offsets take 64 bits, so that there are fewer variants.
// spills 340: as ranks.cu, and what a block gathers together

#define CULLED 1
#include "kernels/partition/cuda/culled.cuh"
#include "kernels/partition/cuda/ranks.cu"
// variants OFFSET: u64
