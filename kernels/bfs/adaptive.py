"""A thread or a warp for each frontier vertex, by its degree; on the CPU its twin is the top-down search."""

from kernels.strategy import Strategy

STRATEGY = Strategy(
    name="adaptive",
    about="Expands a vertex of few arcs by a thread and one of many (`threshold`) by a warp.",
    source="Moschou 2024, section 2.2",
    cpu="kernels.bfs.cpu.top_down:prepare",
    cuda="kernels.bfs.cuda.adaptive:prepare",
    counts=("cuda",),
)
