"""Batches of searches on a GPU: which of the two kinds fits a graph, and how wide a batch is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy

from gravel.kernels.buffers import total
from gravel.kernels.cuda.room import free_bytes
from gravel.kernels.distances.aggregates import Aggregates
from gravel.kernels.distances.buffers import BATCH, on_device
from gravel.kernels.distances.interface import DEEP, Batches, Searches, is_deep
from gravel.kernels.layouts.units import offsets_of

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows

MAX_INDEPENDENT = (1 << 32) - 2
"""Vertices from which the queue of a block would need wider counters, or records other marks."""

USABLE = 0.9
"""Share of the free memory of a device that a batch may take; the pool of CuPy rounds blocks up."""


BUFFER_SHARE = 0.25
"""Of the memory that a batch may take: for the buffers of rows in parts."""


def prepare(
    rows: EncodedRows,
    batches: Batches,
    *,
    chosen: bool,
    independent: bool | None,
    split: bool,
    buffer_bytes: int,
    buffers: int,
) -> Searches:
    """Make rows ready; parameters as of `gravel.kernels.distances.many.prepare_rows`.

    `chosen` says that nobody gave the width of a batch.
    """
    from gravel.kernels.distances.bit_parallel_cuda import BitParallel
    from gravel.kernels.distances.independent_cuda import Independent
    from gravel.kernels.distances.row_parts import row_parts
    from gravel.kernels.layouts.layout import is_read_in_parts

    memory = batches.memory
    in_parts = is_read_in_parts(rows)
    if independent and in_parts:
        raise ValueError(
            "searches of their own read rows where they lie, and these are read in parts; bring them into "
            "memory, or leave independent at None or False"
        )
    together = in_parts or rows.vertex_count >= MAX_INDEPENDENT
    if not independent or together:
        most = min(batches.most, BATCH) if chosen else batches.most
        kept, most = _kept(rows, most, memory) if split else (0, most)
        most_bytes = int(memory * BUFFER_SHARE) // buffers
        parts = row_parts(rows, kept=kept, buffer_bytes=min(buffer_bytes, most_bytes), buffers=buffers)
        found = BitParallel(rows, parts, replace(batches, most=most))
        if independent is not None or together or not _deep(found, rows):
            return found
        del found, parts  # with what is kept of a split
    return Independent(rows, batches)


def _kept(rows: EncodedRows, most: int, memory: int) -> tuple[int, int]:
    """Say how many bytes of a split may lie on the device, beside a batch of how many sources.

    A batch is as wide as it may be, since all its sources share what is read over the link; it is narrower
    where nothing else fits.
    """
    item = numpy.dtype(rows.dtype).itemsize
    stream = rows.arrays.get("stream")
    for width in sorted({most, *(each for each in (64, 256) if each < most)}, reverse=True):
        size = None if stream is None else len(stream)
        batch = total(on_device(rows.vertex_count, rows.arc_count, item, width, stream=size))
        if batch <= memory:
            return memory - batch, width
    return 0, most


def _deep(searches: Any, rows: EncodedRows) -> bool:
    found = Aggregates.empty(1)
    offsets = offsets_of(rows)
    degrees = offsets[1:] - offsets[:-1]
    searches.run(numpy.array([int(degrees.argmax())]), found, max_depth=DEEP + 1)
    searches.forget_vertices()
    return is_deep(int(found.eccentricity[0]), int(found.reached[0]), len(degrees))


def usable_bytes() -> int:
    """Count the bytes of the device that a batch may take."""
    return int(USABLE * free_bytes())
