"""Contract-expand BFS, Merrill et al. 2012, in one launch; see `kernels/bfs/contract_expand.cu`."""

from gravel.kernels.bfs.cuda.frontier_queues import strategy_of_queues

prepare = strategy_of_queues("contract_expand")
