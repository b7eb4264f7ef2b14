"""What both sides of PageRank are given, and what they give."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy
from numpy.typing import NDArray


@dataclass(frozen=True)
class Walk:
    """What a random surfer does; `teleport`, `leak` and `start` are probabilities of all vertices, NumPy's.

    From a vertex with arcs the surfer follows one with probability `damping`, else jumps to a vertex by
    `teleport`. A dangling vertex has no arcs: there the surfer jumps by `leak` instead of following one.
    Arrays of length 1 stand for the same value at every vertex.
    """

    damping: float = 0.85
    teleport: NDArray[Any] = field(default_factory=lambda: numpy.ones(1))
    leak: NDArray[Any] = field(default_factory=lambda: numpy.ones(1))
    start: NDArray[Any] = field(default_factory=lambda: numpy.ones(1))


class Ranks(Protocol):
    """Rows that are ready on one side."""

    def run(self, until: int, bound: float) -> tuple[int, float]:
        """Go on to iteration `until`, or to the first whose residual is below `bound`; both are returned."""

    @property
    def rank(self) -> Any:
        """Ranks after the last iteration."""
