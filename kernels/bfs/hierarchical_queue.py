"""Queues of warps and blocks, merged into one of the grid; CUDA alone."""

from kernels.strategy import Strategy

STRATEGY = Strategy(
    name="hierarchical_queue",
    about="Fills queues in shared memory, merged into one in global memory; one block for small levels.",
    source="Luo, Wong, Hwu, DAC 2010",
    cuda="kernels.bfs.cuda.hierarchical_queue:prepare",
    counts=("cuda",),
)
