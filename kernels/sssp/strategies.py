"""The table of searches for shortest paths; see `gravel.kernels.bfs.strategies`."""

from __future__ import annotations

from gravel.kernels.strategy import Strategy, table

STRATEGIES = table(
    Strategy(
        name="delta_stepping",
        about="Relaxes the nearest bucket in rounds; farther vertices wait in a pile. Rows in the order of "
        "weights relax light arcs first and end in pulls.",
        source="Meyer, Sanders, J. Algorithms 2003; near-far: Davidson, Baxter, Garland, Owens, IPDPS 2014; "
        "pulls: Chakaravarthy, Checconi, Petrini, Sabharwal, IPDPS 2014",
        cpu="gravel.kernels.sssp.cpu.delta_stepping:prepare",
        cuda="gravel.kernels.sssp.cuda.delta_stepping:prepare",
        outputs=("distance", "both"),
    ),
    Strategy(
        name="dijkstra",
        about="Takes one vertex after the other from a binary heap, on one thread.",
        source="Dijkstra, Numerische Mathematik 1959",
        cpu="gravel.kernels.sssp.cpu.dijkstra:prepare",
        outputs=("distance", "both"),
        placements=("device",),
    ),
)
