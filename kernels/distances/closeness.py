"""Closeness: the reciprocal of the mean distance to the vertices that a vertex reaches."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.distances.aggregates import Aggregates


def closeness(found: Aggregates, vertices: int, *, wf_improved: bool = True) -> NDArray[numpy.float64]:
    """Return the closeness of each source of a graph of so many vertices; 0 for one that reaches no other.

    With `wf_improved` it is multiplied by the share of the other vertices that the source reaches (Wasserman,
    Faust, Social Network Analysis, 1994, formula 5.22), so that small components count less.
    """
    others: Any = found.reached - 1.0
    value: NDArray[numpy.float64] = numpy.divide(
        others, found.total, out=numpy.zeros(len(others)), where=found.total > 0
    )
    if wf_improved:
        value *= others / max(1, vertices - 1)
    return value
