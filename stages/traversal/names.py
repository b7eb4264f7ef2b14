"""Names of strategies: which there are, what each takes, and the nearest to one that there is not."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from gravel.kernels.algorithms import strategies_for

OF_ALL_VERTICES = ("components", "strong_components")
"""Algorithms that label all vertices at once, without sources."""


def strategy_names(*algorithms: str) -> list[str]:
    """List what the parameter `strategy` may be for these algorithms."""
    return ["auto", *sorted({name for algorithm in algorithms for name in strategies_for(algorithm)})]


def checked_strategy(algorithm: str, name: str) -> str:
    """Return the name if it is `auto` or a strategy of the algorithm; raises ValueError with the nearest."""
    known = strategy_names(algorithm)
    if name not in known:
        raise ValueError(
            f"there is no {algorithm} strategy {name!r}{nearest_text(name, known)}; "
            f"there are {', '.join(known)}"
        )
    return name


def either(names: Sequence[str]) -> str:
    """Write alternatives as a sentence has them."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def nearest_text(name: str, known: list[str]) -> str:
    """Ask for the nearest of the known names, in brackets; nothing where none is near."""
    close = difflib.get_close_matches(name, known, 1)
    return f" (did you mean {close[0]!r}?)" if close else ""
