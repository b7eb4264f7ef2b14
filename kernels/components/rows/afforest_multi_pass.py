"""Passes over all arcs of encoded rows, each of which decodes them anew, until one changes nothing."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="afforest_multi_pass",
    about="Decodes all rows and links every arc, pass after pass until one changes nothing.",
    source="Moschou, GPU Acceleration with CUDA: Adaptive BFS & Afforest, sections 2.3 and 2.4",
    cpu="gravel.kernels.components.rows.passes_cpu:multi_pass",
    cuda="gravel.kernels.components.rows.passes_cuda:multi_pass",
)
