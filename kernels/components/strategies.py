"""The table of what finds connected components; see `gravel.kernels.bfs.strategies`."""

from __future__ import annotations

from gravel.kernels.strategy import Strategy, table

STRATEGIES = table(
    Strategy(
        name="afforest",
        about="Links a few neighbours of each vertex, finds the largest component and skips its other arcs.",
        source="Sutton, Ben-Nun, Barak, IPDPS 2018",
        cpu="gravel.kernels.components.cpu.afforest:prepare",
        cuda="gravel.kernels.components.cuda.afforest:prepare",
        encoded=True,
        placements=("device", "split", "pinned"),
    ),
    Strategy(
        name="afforest_tiles",
        about="Joins tiles of neighbouring vertices in shared memory first; its parts can be chosen.",
        source="gravel, after Sutton, Ben-Nun, Barak, IPDPS 2018",
        cuda="gravel.kernels.components.cuda.afforest_tiles:components",
    ),
    Strategy(
        name="label_propagation",
        about="Lowers each label to the smallest of the neighbours' until none changes: the plain reference.",
        cpu="gravel.kernels.components.cpu.label_propagation:components",
    ),
    Strategy(
        name="streamed",
        about="Reads the columns once, part by part through a few buffers, and joins every arc as it comes.",
        cpu="gravel.kernels.components.cpu.streamed:StreamedForest",
        cuda="gravel.kernels.components.cuda.streamed:prepare",
        encoded=True,
        placements=("streamed",),
    ),
)
