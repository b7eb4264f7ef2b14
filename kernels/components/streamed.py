"""Rows that no memory holds whole: read once, in parts, and every arc joined as it comes."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="streamed",
    about="Reads the columns once, part by part through a few buffers, and joins every arc as it comes.",
    source="gravel",
    cpu="gravel.kernels.components.cpu.streamed:prepare",
    cuda="gravel.kernels.components.cuda.streamed:prepare",
    encoded=True,
)
