"""One pass over all arcs of encoded rows: fast, and not always finished, which it says."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="afforest_single_pass",
    about="Decodes every row once and links every arc once; may leave components in parts, and says so.",
    source="Moschou, GPU Acceleration with CUDA: Adaptive BFS & Afforest, sections 2.3 and 2.4",
    cpu="gravel.kernels.components.rows.passes_cpu:single_pass",
    cuda="gravel.kernels.components.rows.passes_cuda:single_pass",
)
