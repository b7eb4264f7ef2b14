"""The algorithms that have tables of strategies.

Apart from `gravel.kernels.strategy`, since whatever imports this leads to the code of all of them.
"""

from __future__ import annotations

from gravel.kernels.strategy import COLUMNS, Strategy, strategies_in

PACKAGES = {
    "bfs": "gravel.kernels.bfs",
    "shortest_paths": "gravel.kernels.sssp",
    "components": "gravel.kernels.components",
    "strong_components": "gravel.kernels.strong_components",
}
"""Where each algorithm's strategies live."""


def strategies_for(algorithm: str, layout: str = COLUMNS) -> dict[str, Strategy]:
    """Return the strategies of an algorithm that search rows of a layout, by name."""
    return strategies_in(PACKAGES[algorithm], layout)


def taken_by(algorithm: str, strategy: str, what: str) -> tuple[str, ...]:
    """Return the `placements` or `outputs` that a strategy takes; those of all strategies with `auto`."""
    known = strategies_for(algorithm)
    chosen = known.values() if strategy == "auto" else [known[strategy]]
    return tuple(dict.fromkeys(value for each in chosen for value in getattr(each, what)))
