// Hybrid BFS (Merrill, Garland, Grimshaw, PPoPP 2012, section 5.4): levels of at most `crowd` arcs per
// resident thread are searched in one step, as by contract_expand.cu, larger ones in two, as by two_phase.cu.

constexpr bool FUSES = true, SPLITS = true;
constexpr unsigned BOUND = 512;

#include "kernels/bfs/cuda/edge_frontier.cuh"
