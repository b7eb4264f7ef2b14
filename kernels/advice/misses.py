"""How much of its rows a search reads over the link, where the device has the first neighbours of every row.

A vertex is found bottom-up by the first of its neighbours that lies a level nearer to the source. One search
tells every vertex's level, and sampled rows then tell, for any order, where that neighbour stands. How many
of these looks a search makes depends on its source and on where it turns bottom-up (of a million vertices
with communities 0 to 33 % of the lines, by five sources), so counts serve to compare orders with each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.advice.sample import Part, linked_from
from gravel.kernels.jit import serial
from gravel.kernels.placement import plan
from gravel.kernels.placement.pinned import LINE_BYTES

HEADS = plan.HEADS[0]
"""First neighbours that the device has of rows in host memory, where memory is not very short."""


ASKED = 9
"""Vertices, evenly spread, of which the one of median degree is searched from: hubs are no usual source."""


def levels_of(row_offsets: NDArray[numpy.int64], columns: NDArray[Any]) -> NDArray[numpy.int32]:
    """Search a symmetric graph from a usual vertex; levels (vertices,), -1 for unreached."""
    from gravel.kernels.bfs import bfs

    vertices = len(row_offsets) - 1
    asked = [linked_from(row_offsets, place * vertices // ASKED) for place in range(ASKED)]
    if asked[0] < 0:
        return numpy.full(vertices, -1, numpy.int32)
    asked.sort(key=lambda vertex: int(row_offsets[vertex + 1] - row_offsets[vertex]))
    found = bfs(row_offsets, columns, asked[ASKED // 2], symmetric=True, output="distance")
    levels: NDArray[numpy.int32] = numpy.asarray(found.distance)
    return levels


def missed_lines(parts: Sequence[Part], levels: NDArray[numpy.int32], index_bytes: int) -> float:
    """Count the lines that looks beyond a row's first `HEADS` read, as a share of all lines of the rows.

    `levels` are in the numbering of the parts. Without arcs it is 0.
    """
    read = whole = 0
    for first_row, offsets, columns in parts:
        lines, of_rows = _missed(first_row, offsets, columns, levels, HEADS, LINE_BYTES // index_bytes)
        read += lines
        whole += of_rows
    return read / whole if whole else 0.0


@serial
def _missed(
    first_row: int,
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    levels: NDArray[numpy.int32],
    heads: int,
    of_line: int,
) -> tuple[int, int]:
    base = row_offsets[0]
    read = 0
    for row in range(len(row_offsets) - 1):
        above = levels[first_row + row] - 1
        begin, end = row_offsets[row] - base, row_offsets[row + 1] - base
        if above < 0 or end - begin <= heads:
            continue
        for i in range(begin, end):
            if levels[numpy.int64(columns[i])] == above or i + 1 == end:
                if i >= begin + heads:
                    read += i // of_line - (begin + heads) // of_line + 1
                break
    return read, (row_offsets[len(row_offsets) - 1] - base) // of_line + 1
