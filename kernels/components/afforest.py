"""Afforest: link a few neighbours of every vertex, then skip the largest component."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="afforest",
    about="Links a few neighbours of each vertex, finds the largest component and skips its other arcs.",
    source="Sutton, Ben-Nun, Barak, IPDPS 2018",
    cpu="gravel.kernels.components.cpu.afforest:prepare",
    cuda="gravel.kernels.components.cuda.afforest:prepare",
    encoded=True,
)
