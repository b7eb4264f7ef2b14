// Contract-expand BFS (Merrill, Garland, Grimshaw, PPoPP 2012, section 5.2): the queue holds the edge frontier.
// Per level one step filters it and gathers the neighbours of what is left into the next edge queue; vertices
// go through no queue.

constexpr bool FUSES = true, SPLITS = false;
constexpr unsigned BOUND = 640;  // leaves 48 registers to a thread

#include "kernels/bfs/cuda/edge_frontier.cuh"
