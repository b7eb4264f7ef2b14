"""Batches of searches on a GPU: which of the two kinds fits a graph, and how wide a batch is."""

from __future__ import annotations

from typing import Any

import numpy

from gravel.kernels.cuda.room import free_bytes
from gravel.kernels.distances.aggregates import Aggregates
from gravel.kernels.distances.interface import DEEP, Searches, is_deep
from gravel.kernels.distances.sizes import BATCH

MAX_INDEPENDENT = 1 << 32
"""Vertices from which the queue of a block would need wider counters."""

USABLE = 0.9
"""Share of the free memory of a device that a batch may take; the pool of CuPy rounds blocks up."""


def prepare(
    row_offsets: Any,
    column_indices: Any,
    *,
    symmetric: bool,
    sources: int,
    max_depth: int,
    levels: int,
    vertices: bool,
    batch: int | None,
    memory: int | None,
    independent: bool | None,
) -> Searches:
    """Make a graph ready; parameters as of `gravel.kernels.distances.many.prepare`."""
    from gravel.kernels.distances.bit_parallel_cuda import BitParallel
    from gravel.kernels.distances.independent_cuda import Independent

    memory = usable_bytes() if memory is None else memory
    rows = row_offsets, column_indices
    vertex_count = len(row_offsets) - 1
    if not independent or vertex_count >= MAX_INDEPENDENT:
        most = min(sources, BATCH if batch is None else batch)
        found = BitParallel(*rows, symmetric, max_depth, most, levels, vertices, memory)
        if independent is not None or vertex_count >= MAX_INDEPENDENT or not _deep(found, row_offsets):
            return found
        del found
    most = sources if batch is None else min(sources, batch)
    return Independent(*rows, max_depth, most, levels, vertices, memory)


def _deep(searches: Any, row_offsets: Any) -> bool:
    found = Aggregates.empty(1)
    degrees = row_offsets[1:] - row_offsets[:-1]
    searches.run(numpy.array([int(degrees.argmax())]), found, max_depth=DEEP + 1)
    return is_deep(int(found.eccentricity[0]), int(found.reached[0]), len(degrees))


def usable_bytes() -> int:
    """Count the bytes of the device that a batch may take."""
    return int(USABLE * free_bytes())
