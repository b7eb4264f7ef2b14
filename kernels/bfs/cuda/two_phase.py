"""Two-phase BFS, Merrill et al. 2012, in one launch; see `kernels/bfs/two_phase.cu`."""

from gravel.kernels.bfs.cuda.frontier_queues import strategy_of_queues

prepare = strategy_of_queues("two_phase")
