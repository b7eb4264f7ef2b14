"""FlexBFS and the steps that led to it; CUDA alone."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="flex",
    about="Fits the number of threads to the frontier; `configuration` is a row of the paper's table 1.",
    source="Liu et al., FlexBFS, PPoPP 2012 (poster)",
    cuda="gravel.kernels.bfs.cuda.flex:prepare",
    counts=("cuda",),
)
