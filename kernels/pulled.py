"""The arcs that a bottom-up step reads, counted from distances after a search (Beamer et al., SC 2012)."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.jit import parallel, prange


@parallel
def pulled_arcs(distance: NDArray[Any], row_offsets: NDArray[Any], columns: NDArray[Any], level: int) -> int:
    """Count what the step from `level` reads: of each unvisited vertex, the row up to a frontier vertex.

    The whole row where it has none. Rows are read from their beginning, as they are stored.
    """
    total = 0
    for v in prange(len(distance)):
        read = 0
        if distance[v] < 0 or distance[v] > level:
            for arc in range(row_offsets[v], row_offsets[v + 1]):
                read += 1
                if distance[numpy.int64(columns[arc])] == level:
                    break
        total += read
    return total
