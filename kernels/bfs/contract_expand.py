"""Contraction and expansion fused, with a queue of arcs; CUDA alone."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="contract_expand",
    about="Filters the gathered arcs and gathers the neighbours of what is left, in one step a level.",
    source="Merrill, Garland, Grimshaw, PPoPP 2012, section 5.2",
    cuda="gravel.kernels.bfs.cuda.contract_expand:prepare",
    counts=("cuda",),
)
