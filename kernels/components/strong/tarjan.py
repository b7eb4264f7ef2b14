"""Tarjan's algorithm: one depth-first search on one thread."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="tarjan",
    about="Finds components in the order in which one depth-first search leaves them, on one thread.",
    source="Nuutila, Soisalon-Soininen, Information Processing Letters 1994",
    cpu="gravel.kernels.components.strong.tarjan_cpu:components",
)
