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


THRESHOLDS = tuple(sorted({0, *(round(2 ** (half / 2)) for half in range(33))}))
"""Thresholds at which graphs are divided: powers of the square root of 2."""


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
    """Histograms over capped degrees, int64 each: of vertices, and of arcs by either end.

    Arcs may have been counted by `classes` of degrees, which tell divisions at `THRESHOLDS` alone.
    """

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
        """Divide the graph at `THRESHOLDS`, up to the largest degree."""
        most = 2 * self.largest
        return [self.at(each) for each in THRESHOLDS if each <= 1 or each <= most]


def capped(degrees: NDArray[Any]) -> NDArray[numpy.uint16]:
    """Give degrees as the census takes them."""
    few: NDArray[numpy.uint16] = numpy.minimum(degrees, LARGEST).astype(numpy.uint16)
    return few


def classes(degrees: NDArray[Any]) -> NDArray[numpy.uint8]:
    """Give the places in `THRESHOLDS` of the smallest thresholds that are not below degrees."""
    few: NDArray[numpy.uint8] = numpy.searchsorted(THRESHOLDS, capped(degrees)).astype(numpy.uint8)
    return few


def of_classes(counts: NDArray[Any]) -> NDArray[numpy.int64]:
    """Make a histogram over capped degrees from counts of classes: each counts as its largest degree."""
    histogram = numpy.zeros(LARGEST + 1, numpy.int64)
    histogram[numpy.minimum(THRESHOLDS, LARGEST)] = counts[: len(THRESHOLDS)]
    return histogram
