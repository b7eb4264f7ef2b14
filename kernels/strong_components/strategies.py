"""The table of what finds strongly connected components; see `gravel.kernels.bfs.strategies`."""

from __future__ import annotations

from gravel.kernels.strategy import Strategy, table

STRATEGIES = table(
    Strategy(
        name="forward_backward",
        about="Trims, finds the largest component by two searches, and the others by colours.",
        source="Slota, Rajamanickam, Madduri, IPDPS 2014",
        cpu="gravel.kernels.strong_components.cpu.forward_backward:components",
        cuda="gravel.kernels.strong_components.cuda.forward_backward:components",
        placements=("device",),
    ),
    Strategy(
        name="tarjan",
        about="Finds components in the order in which one depth-first search leaves them, on one thread.",
        source="Nuutila, Soisalon-Soininen, Information Processing Letters 1994",
        cpu="gravel.kernels.strong_components.cpu.tarjan:components",
        placements=("device",),
    ),
)
