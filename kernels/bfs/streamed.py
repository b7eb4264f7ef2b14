"""Rows that no memory holds whole: read level by level in parts, and only parts that the frontier is in."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="streamed",
    about="Reads rows in parts through a few buffers, in each level those parts that hold its rows.",
    source="gravel",
    cpu="gravel.kernels.bfs.cpu.streamed:prepare",
    cuda="gravel.kernels.bfs.cuda.streamed:prepare",
    encoded=True,
)
