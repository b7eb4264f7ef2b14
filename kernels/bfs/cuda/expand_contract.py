"""Expand-contract BFS, Merrill et al. 2012, in one launch; see `kernels/bfs/expand_contract.cu`."""

from gravel.kernels.bfs.cuda.frontier_queues import strategy_of_queues

STAGE = 128
"""Vertices that a warp keeps before it reserves room for them, as in the `.cu` file."""

BLOCK = 512
"""Threads of a block; docs/tuning.md has what supports it."""

prepare = strategy_of_queues("expand_contract", edges=False, stage=STAGE, block=BLOCK)
