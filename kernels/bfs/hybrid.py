"""Contract-expand while the edge frontier is small, else two-phase; the CPU's twin is the top-down search."""

from kernels.strategy import Strategy

STRATEGY = Strategy(
    name="hybrid",
    about="Contract-expand for small edge frontiers, two-phase for large ones.",
    source="Merrill, Garland, Grimshaw, PPoPP 2012, section 5.4",
    cpu="kernels.bfs.cpu.top_down:prepare",
    cuda="kernels.bfs.cuda.hybrid:prepare",
    counts=("cuda",),
)
