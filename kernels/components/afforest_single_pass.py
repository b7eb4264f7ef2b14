"""One pass over all arcs with atomic minima: fast, and not always finished, which it says."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="afforest_single_pass",
    about="Links every arc once by an atomic minimum, which may leave components in parts, and says so.",
    source="Moschou, GPU Acceleration with CUDA: Adaptive BFS & Afforest, section 2.4",
    cpu="gravel.kernels.components.cpu.passes:single_pass",
    cuda="gravel.kernels.components.cuda.passes:single_pass",
    encoded=True,
)
