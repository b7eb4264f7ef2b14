"""Blocks that carry a deep graph's frontier through many hops between barriers; CUDA alone."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="persistent",
    about="Takes each part of the frontier many hops further between barriers, for deep graphs.",
    source="gravel",
    cuda="gravel.kernels.bfs.cuda.persistent:prepare",
    counts=("cuda",),
)
