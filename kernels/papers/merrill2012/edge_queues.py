"""The searches of Merrill et al. 2012 that `auto` never stands for, by queues of arcs."""

from __future__ import annotations

from gravel.kernels.bfs.cuda.frontier_queues import strategy_of_queues

contract_expand = strategy_of_queues("kernels/papers/merrill2012/contract_expand.cu")
two_phase = strategy_of_queues("kernels/papers/merrill2012/two_phase.cu")
