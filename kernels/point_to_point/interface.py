"""What queries between pairs are, and what they answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy


@dataclass(frozen=True)
class Paths:
    """Answers on the host: `length` int64 or float64 (pairs,), and, unless left out, the ways.

    Path i is `vertices[offsets[i]:offsets[i + 1]]`, both ends included; empty where there is none.
    """

    length: Any
    offsets: Any | None
    vertices: Any | None
    milliseconds: float


class PairQueries(Protocol):
    """Rows made ready for many pairs."""

    at_once: int
    """Pairs that are searched side by side."""

    def run(self, sources: Any, targets: Any, *, path: bool = True) -> Paths:
        """Search between sources[i] and targets[i]; raises ValueError for one that is no vertex."""
        ...


def checked_pairs(vertices: int, sources: Any, targets: Any) -> tuple[Any, Any]:
    """Return both ends as int64; raises ValueError where they do not fit together or the graph."""
    ends = numpy.asarray(sources, numpy.int64), numpy.asarray(targets, numpy.int64)
    if ends[0].shape != ends[1].shape or ends[0].ndim != 1:
        raise ValueError(f"there are {ends[0].size} sources and {ends[1].size} targets")
    for name, array in zip(("source", "target"), ends, strict=True):
        outside = numpy.flatnonzero((array < 0) | (array >= vertices))
        if len(outside):
            raise ValueError(f"{name} {array[outside[0]]} is not a vertex; there are {vertices}")
    return ends
