"""Dijkstra's algorithm on one thread, as plain as can be: what the others are tested against."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="dijkstra",
    about="Takes one vertex after the other from a binary heap, on one thread.",
    source="Dijkstra, Numerische Mathematik 1959",
    cpu="gravel.kernels.sssp.cpu.dijkstra:prepare",
    outputs=("distance", "both"),
)
