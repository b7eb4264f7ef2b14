"""Expansion and contraction of the frontier as two steps; on the CPU the twin is the top-down search."""

from kernels.strategy import Strategy

STRATEGY = Strategy(
    name="two_phase",
    about="Gathers the neighbours of the frontier, then filters them, each with linear work.",
    source="Merrill, Garland, Grimshaw, PPoPP 2012, section 5.3",
    cpu="kernels.bfs.cpu.top_down:prepare",
    cuda="kernels.bfs.cuda.two_phase:prepare",
    counts=("cuda",),
)
