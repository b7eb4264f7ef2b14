"""Encoded rows that are larger than memory, read and decoded part by part while they are searched."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="streamed",
    about="Reads the parts of the encoded rows that a level needs, decoding one while others are read.",
    source="gravel",
    cpu="gravel.kernels.bfs.rows.cpu.streamed:prepare",
    cuda="gravel.kernels.bfs.rows.cuda.streamed:prepare",
)
