"""Rows that no memory holds whole: read level by level in parts, and only parts that the frontier is in."""

from kernels.strategy import Strategy

STRATEGY = Strategy(
    name="streamed",
    about="Reads rows in parts through a few buffers, in each level those parts that hold its rows.",
    source="gravel",
    cpu="kernels.bfs.cpu.streamed:prepare",
    cuda="kernels.bfs.cuda.streamed:prepare",
)
