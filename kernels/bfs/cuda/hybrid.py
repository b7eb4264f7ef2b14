"""Hybrid BFS, Merrill et al. 2012, in one launch; see `kernels/bfs/hybrid.cu`."""

from gravel.kernels.bfs.cuda.frontier_queues import strategy_of_queues

CROWD = 1.0
"""Arcs per resident thread up to which a level is searched in one step (section 5.4)."""

prepare = strategy_of_queues("hybrid", crowd=CROWD)
