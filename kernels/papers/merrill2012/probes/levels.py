"""The levels of one search as probes take them: vertices in level order, with the rows that they have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial


@dataclass(frozen=True)
class Levels:
    """The reached vertices of a search, level after level, ascending within a level.

    `vertices` int64 (reached,); `ranges` int64 (reached, 2), where each one's row begins and ends: the
    preprocessed row ranges of Merrill, Garland and Grimshaw, section 4.1. Level d is
    `vertices[vertex_begin[d]:vertex_begin[d + 1]]`, and its edge frontier, the rows one after the other, is
    `arc_begin[d]` to `arc_begin[d + 1]` of all of them; both int64 (depth + 2,).
    """

    vertices: NDArray[Any]
    ranges: NDArray[Any]
    vertex_begin: NDArray[Any]
    arc_begin: NDArray[Any]

    @property
    def count(self) -> int:
        """How many levels there are, that of the source included."""
        return len(self.vertex_begin) - 1

    @property
    def vertex_counts(self) -> NDArray[Any]:
        """Vertices of each level."""
        return numpy.diff(self.vertex_begin)

    @property
    def arc_counts(self) -> NDArray[Any]:
        """Arcs of each level's edge frontier."""
        return numpy.diff(self.arc_begin)

    @property
    def fresh_counts(self) -> NDArray[Any]:
        """Vertices that each level's edge frontier finds: those of the next level."""
        return numpy.append(self.vertex_counts[1:], 0)


def levels_of(distance: NDArray[Any], row_offsets: NDArray[Any]) -> Levels:
    """List the levels of a search from its distances, int32 with -1 for unreached.

    The order within a level does not depend on the strategy that searched, so that probes of both backends
    and of every strategy see the same frontiers.
    """
    depth = int(distance.max(initial=-1))
    vertex_begin = numpy.zeros(depth + 2, numpy.int64)
    arc_begin = numpy.zeros(depth + 2, numpy.int64)
    _count(distance, row_offsets, vertex_begin, arc_begin)
    numpy.cumsum(vertex_begin, out=vertex_begin)
    numpy.cumsum(arc_begin, out=arc_begin)
    vertices = numpy.empty(int(vertex_begin[-1]), numpy.int64)
    ranges = numpy.empty((len(vertices), 2), numpy.int64)
    _list(distance, row_offsets, vertex_begin[:-1].copy(), vertices, ranges)
    return Levels(vertices, ranges, vertex_begin, arc_begin)


@serial
def _count(
    distance: NDArray[Any], row_offsets: NDArray[Any], vertices: NDArray[Any], arcs: NDArray[Any]
) -> None:
    for v in range(len(distance)):
        level = distance[v]
        if level >= 0:
            vertices[level + 1] += 1
            arcs[level + 1] += row_offsets[v + 1] - row_offsets[v]


@serial
def _list(
    distance: NDArray[Any],
    row_offsets: NDArray[Any],
    tails: NDArray[Any],
    vertices: NDArray[Any],
    ranges: NDArray[Any],
) -> None:
    for v in range(len(distance)):
        level = distance[v]
        if level >= 0:
            place = tails[level]
            tails[level] = place + 1
            vertices[place] = v
            ranges[place, 0] = row_offsets[v]
            ranges[place, 1] = row_offsets[v + 1]
