"""FlexBFS and the steps that led to it; on the CPU its twin is the top-down search."""

from kernels.strategy import Strategy

STRATEGY = Strategy(
    name="flex",
    about="Fits the number of threads to the frontier; `configuration` is a row of the paper's table 1.",
    source="Liu et al., FlexBFS, PPoPP 2012 (poster)",
    cpu="kernels.bfs.cpu.top_down:prepare",
    cuda="kernels.bfs.cuda.flex:prepare",
    counts=("cuda",),
)
