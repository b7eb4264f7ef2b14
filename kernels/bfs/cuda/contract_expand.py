"""Contract-expand BFS, Merrill et al. 2012, in one launch; see `kernels/bfs/contract_expand.cu`."""

from gravel.kernels.bfs.cuda.frontier_queues import edge_queues, edge_rooms, strategy_of_queues

prepare = strategy_of_queues("contract_expand", queues=edge_queues, rooms=edge_rooms)
