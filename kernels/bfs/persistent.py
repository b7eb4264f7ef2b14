"""Blocks that carry a deep graph's frontier through many hops between barriers; on the CPU top-down."""

from kernels.strategy import Strategy

STRATEGY = Strategy(
    name="persistent",
    about="Takes each part of the frontier many hops further between barriers, for deep graphs.",
    source="gravel",
    cpu="kernels.bfs.cpu.top_down:prepare",
    cuda="kernels.bfs.cuda.persistent:prepare",
    counts=("cuda",),
)
