"""Encoded rows that no memory holds whole: read once, in parts, and decoded and joined as they come."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="streamed",
    about="Reads the encoded rows once, part by part through a few buffers, and joins what it decodes.",
    source="gravel",
    cpu="gravel.kernels.components.rows.streamed_cpu:prepare",
    cuda="gravel.kernels.components.rows.streamed_cuda:prepare",
)
