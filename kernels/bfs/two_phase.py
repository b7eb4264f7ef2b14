"""Expansion and contraction of the frontier as two steps; CUDA alone."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="two_phase",
    about="Gathers the neighbours of the frontier, then filters them, each with linear work.",
    source="Merrill, Garland, Grimshaw, PPoPP 2012, section 5.3",
    cuda="gravel.kernels.bfs.cuda.two_phase:prepare",
    counts=("cuda",),
)
