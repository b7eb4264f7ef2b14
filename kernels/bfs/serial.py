"""The sequential search that papers compare with."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="serial",
    about="Searches with one queue on one thread: the CPU baseline of the papers.",
    source="Merrill, Garland, Grimshaw, TOPC 2015, algorithm 1",
    cpu="gravel.kernels.bfs.cpu.serial:prepare",
)
