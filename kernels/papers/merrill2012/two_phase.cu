// Two-phase BFS (Merrill, Garland, Grimshaw, PPoPP 2012, section 5.3): per level one step filters the edge
// queue into the vertex queue, and one gathers the neighbours of the vertex queue into the edge queue.

constexpr bool FUSES = false, SPLITS = true;
constexpr unsigned BOUND = 640;  // leaves 48 registers to a thread

#include "kernels/bfs/cuda/edge_frontier.cuh"
