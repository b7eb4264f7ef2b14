"""Queues of warps and blocks, merged into one of the grid; CUDA alone."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="hierarchical_queue",
    about="Fills queues in shared memory, merged into one in global memory; one block for small levels.",
    source="Luo, Wong, Hwu, DAC 2010",
    cuda="gravel.kernels.bfs.cuda.hierarchical_queue:prepare",
    counts=("cuda",),
)
