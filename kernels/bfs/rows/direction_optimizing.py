"""Top-down and bottom-up steps on encoded rows; most bottom-up tests end at a first neighbour kept plain."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="direction_optimizing",
    about="Searches encoded rows top-down while the frontier is small and bottom-up while it is large.",
    source="Beamer, Asanovic, Patterson, SC 2012, sections IV and V; on encoded rows: gravel",
    cpu="gravel.kernels.bfs.rows.cpu.direction_optimizing:prepare",
    cuda="gravel.kernels.bfs.rows.cuda.direction_optimizing:prepare",
    directed=False,
)
