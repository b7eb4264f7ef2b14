"""Components as papers find them; see `gravel.kernels.components.strategies`."""

from __future__ import annotations

from gravel.kernels.strategy import Strategy, table

STRATEGIES = table(
    Strategy(
        name="afforest_multi_pass",
        about="Links every arc by an atomic minimum, pass after pass until one changes nothing.",
        source="Moschou, GPU Acceleration with CUDA: Adaptive BFS & Afforest, sections 2.3 and 2.4",
        cpu="gravel.kernels.papers.moschou.passes_cpu:MultiPass",
        cuda="gravel.kernels.papers.moschou.passes_cuda:MultiPass",
        encoded=True,
        buffers="gravel.kernels.papers.buffers:passes_on_device",
    ),
    Strategy(
        name="afforest_single_pass",
        about="Links every arc once by an atomic minimum, which may leave components in parts, and says so.",
        source="Moschou, GPU Acceleration with CUDA: Adaptive BFS & Afforest, sections 2.3 and 2.4",
        cpu="gravel.kernels.papers.moschou.passes_cpu:SinglePass",
        cuda="gravel.kernels.papers.moschou.passes_cuda:SinglePass",
        encoded=True,
        buffers="gravel.kernels.papers.buffers:passes_on_device",
    ),
)
