"""Contract-expand while the edge frontier is small, else two-phase; CUDA alone."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="hybrid",
    about="Contract-expand for small edge frontiers, two-phase for large ones.",
    source="Merrill, Garland, Grimshaw, PPoPP 2012, section 5.4",
    cuda="gravel.kernels.bfs.cuda.hybrid:prepare",
    counts=("cuda",),
)
