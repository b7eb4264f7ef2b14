"""Batches of searches on a GPU: which of the two kinds fits a graph, and how wide a batch is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from gravel.kernels.cuda.room import free_bytes
from gravel.kernels.distances.aggregates import Aggregates
from gravel.kernels.distances.interface import DEEP, Searches, is_deep
from gravel.kernels.distances.sizes import BATCH
from gravel.kernels.layouts.units import offsets_of

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

MAX_INDEPENDENT = 1 << 32
"""Vertices from which the queue of a block would need wider counters."""

USABLE = 0.9
"""Share of the free memory of a device that a batch may take; the pool of CuPy rounds blocks up."""


def prepare(
    rows: EncodedRows,
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
    """Make rows ready; parameters as of `gravel.kernels.distances.many.prepare_rows`."""
    from gravel.kernels.distances.bit_parallel_cuda import BitParallel
    from gravel.kernels.distances.independent_cuda import Independent

    memory = usable_bytes() if memory is None else memory
    encoded = rows.layout != "csr"
    if independent and encoded:
        raise ValueError(
            f"searches of their own read columns, and these rows are {rows.layout}; decode them "
            "(gravel.kernels.layouts.decode), or leave independent at None or False"
        )
    together = encoded or rows.vertex_count >= MAX_INDEPENDENT
    if not independent or together:
        most = min(sources, BATCH if batch is None else batch)
        found = BitParallel(rows, symmetric, max_depth, most, levels, vertices, memory)
        if independent is not None or together or not _deep(found, rows):
            return found
        del found
    most = sources if batch is None else min(sources, batch)
    columns = rows.arrays["row_offsets"], rows.arrays["column_indices"]
    return Independent(*columns, max_depth, most, levels, vertices, memory)


def _deep(searches: Any, rows: EncodedRows) -> bool:
    found = Aggregates.empty(1)
    offsets = offsets_of(rows)
    degrees = offsets[1:] - offsets[:-1]
    searches.run(numpy.array([int(degrees.argmax())]), found, max_depth=DEEP + 1)
    return is_deep(int(found.eccentricity[0]), int(found.reached[0]), len(degrees))


def usable_bytes() -> int:
    """Count the bytes of the device that a batch may take."""
    return int(USABLE * free_bytes())
