"""Passes over all arcs with atomic minima until one changes nothing."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="afforest_multi_pass",
    about="Links every arc by an atomic minimum, pass after pass until one changes nothing.",
    source="Moschou, GPU Acceleration with CUDA: Adaptive BFS & Afforest, section 2.4",
    cpu="gravel.kernels.components.cpu.passes:multi_pass",
    cuda="gravel.kernels.components.cuda.passes:multi_pass",
    encoded=True,
)
