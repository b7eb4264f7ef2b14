"""Expansion and contraction fused, with a queue of vertices; CUDA alone."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="expand_contract",
    about="Gathers the neighbours of the frontier and filters them as they come, in one step a level.",
    source="Merrill, Garland, Grimshaw, PPoPP 2012, section 5.1",
    cuda="gravel.kernels.bfs.cuda.expand_contract:prepare",
    counts=("cuda",),
)
