"""How vertices and arcs divide at every threshold, counted once over the whole graph, row range by row range.

An arc is nn where the larger of its ends' degrees is at most the threshold, dd where the smaller is above
it, and nd or dn otherwise. So two histograms over the arcs, by the busier and by the quieter end, tell the
division at every threshold (the paper's figures 5 and 12).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import row_blocks, run_blocks

LARGEST = (1 << 16) - 1
"""Degrees above this count as this: no threshold that large keeps any delegate worth having."""


@serial
def _count_ends(first, last, first_row, step, row_offsets, columns, degrees, busier, quieter):  # type: ignore[no-untyped-def]
    """Count arcs of rows by their ends; row r is vertex first_row + r * step."""
    base = row_offsets[0]
    for row in range(first, last):
        own = degrees[first_row + row * step]
        for arc in range(row_offsets[row] - base, row_offsets[row + 1] - base):
            other = degrees[numpy.int64(columns[arc])]
            busier[max(own, other)] += 1
            quieter[min(own, other)] += 1


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


def count_rows(
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    first_row: int,
    degrees: NDArray[Any],
    *,
    step: int = 1,
    per_thread: int = 8,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Count the arcs of a row range by their busier and by their quieter end, int64 (LARGEST + 1,).

    Parameters
    ----------
    row_offsets : int64 (rows + 1,), of the range; need not begin at 0.
    columns : of the range alone.
    degrees : `capped` degrees of all vertices.
    step : between the vertices of two rows.
    per_thread : blocks of rows for each thread, each with its own histograms.

    """

    def count(first: int, last: int) -> NDArray[Any]:
        ends = numpy.zeros((2, LARGEST + 1), numpy.int64)
        _count_ends(first, last, first_row, step, row_offsets, columns, degrees, *ends)
        return ends

    total = numpy.zeros((2, LARGEST + 1), numpy.int64)
    for ends in run_blocks(count, row_blocks(row_offsets, per_thread=per_thread)):
        total += ends
    busier, quieter = total
    return busier, quieter


def take_census(row_offsets: NDArray[Any], columns: NDArray[Any]) -> Census:
    """Count a whole graph, int64 row offsets and uint32 or uint64 columns."""
    degrees = capped(numpy.diff(row_offsets))
    return Census(
        numpy.bincount(degrees, minlength=LARGEST + 1), *count_rows(row_offsets, columns, 0, degrees)
    )
