"""Top-down steps while the frontier is small, bottom-up steps while it is large."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="direction_optimizing",
    about="Searches top-down while the frontier is small and bottom-up while it is large.",
    source="Beamer, Asanovic, Patterson, SC 2012, sections IV and V",
    cpu="gravel.kernels.bfs.cpu.direction_optimizing:prepare",
    cuda="gravel.kernels.bfs.cuda.direction_optimizing:prepare",
    directed=False,
    encoded=True,
)
