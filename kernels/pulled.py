"""The arcs that a bottom-up step reads, counted from distances after a search (Beamer et al., SC 2012)."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import serial
from gravel.kernels.row_blocks import row_blocks, run_blocks


def pulled_arcs(distance: NDArray[Any], row_offsets: NDArray[Any], columns: NDArray[Any], level: int) -> int:
    """Count what the step from `level` reads: of each unvisited vertex, the row up to a frontier vertex.

    The whole row where it has none. Rows are read from their beginning, as they are stored.
    """

    def read(first: int, last: int) -> int:
        return int(_read_by(distance, row_offsets, columns, level, first, last))

    return sum(run_blocks(read, row_blocks(row_offsets)))


@serial
def _read_by(
    distance: NDArray[Any],
    row_offsets: NDArray[Any],
    columns: NDArray[Any],
    level: int,
    first: int,
    last: int,
) -> int:
    total = 0
    for v in range(first, last):
        if distance[v] < 0 or distance[v] > level:
            for arc in range(row_offsets[v], row_offsets[v + 1]):
                total += 1
                if distance[numpy.int64(columns[arc])] == level:
                    break
    return total
