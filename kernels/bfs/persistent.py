"""Blocks that carry a deep graph's frontier through many hops between barriers; CUDA alone."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="persistent",
    about="Searches several levels between two barriers, for deep graphs.",
    source="gravel",
    cuda="gravel.kernels.bfs.cuda.persistent:prepare",
    counts=("cuda",),
)
