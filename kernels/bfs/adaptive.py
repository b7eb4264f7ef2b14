"""A thread or a warp for each frontier vertex, by its degree; CUDA alone."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="adaptive",
    about="Expands a vertex of few arcs with one thread, and one of many (`threshold`) with a warp.",
    source="Moschou 2024, section 2.2",
    cuda="gravel.kernels.bfs.cuda.adaptive:prepare",
    counts=("cuda",),
)
