"""How vertices and arcs divide at every threshold, counted once over the whole graph, row range by row range.

An arc is nn where the larger of its ends' degrees is at most the threshold, dd where the smaller is above
it, and nd or dn otherwise. So two histograms over the arcs, by the end of higher and by that of lower degree,
give the division at every threshold (the paper's figures 5 and 12).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.partition.distributor.buffers import HISTOGRAM

LARGEST = HISTOGRAM - 1
"""Degrees above this count as this: no threshold that large keeps any delegate worth having."""


@dataclass(frozen=True)
class Division:
    """Vertices and arcs at one threshold; `mixed` counts nd and dn arcs together."""

    threshold: int
    delegates: int
    nn: int
    mixed: int
    dd: int

    @property
    def arcs(self) -> int:
        """All arcs."""
        return self.nn + self.mixed + self.dd


@dataclass(frozen=True)
class Census:
    """Histograms over capped degrees, int64 each: of vertices, and of arcs by either end."""

    of_degree: NDArray[Any]
    busier: NDArray[Any]
    quieter: NDArray[Any]

    @property
    def vertices(self) -> int:
        """All vertices."""
        return int(self.of_degree.sum())

    @property
    def largest(self) -> int:
        """The largest degree, capped; 0 without vertices."""
        filled = numpy.flatnonzero(self.of_degree)
        return int(filled[-1]) if len(filled) else 0

    def at(self, threshold: int) -> Division:
        """Divide the graph at a threshold."""
        above = slice(min(threshold, LARGEST) + 1, None)
        arcs, nn, dd = int(self.busier.sum()), int(self.busier[: above.start].sum()), self.quieter[above]
        delegates = int(self.of_degree[above].sum())
        return Division(threshold, delegates, nn, arcs - nn - int(dd.sum()), int(dd.sum()))

    def curve(self) -> list[Division]:
        """Divide the graph at powers of the square root of 2, up to the largest degree."""
        steps = {round(2 ** (half / 2)) for half in range(33) if 2 ** (half / 2) <= 2 * self.largest}
        return [self.at(threshold) for threshold in sorted({0, *steps})]


def capped(degrees: NDArray[Any]) -> NDArray[numpy.uint16]:
    """Give degrees as the census takes them."""
    few: NDArray[numpy.uint16] = numpy.minimum(degrees, LARGEST).astype(numpy.uint16)
    return few
