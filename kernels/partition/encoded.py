"""Ranks whose rows are encoded: their searches on the CPU decode a row where they read it.

A subgraph has its row offsets, counted from the encoded rows, and for columns what
`gravel.kernels.layouts.readers.readable` makes of these; `gravel.kernels.layouts.spans` reads both
kinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from gravel.kernels.layouts.readers import count_neighbours, readable
from gravel.kernels.layouts.streams import largest_vertex
from gravel.kernels.partition.layout import SUBGRAPHS, RankGraph, Subgraph

if TYPE_CHECKING:
    from gravel.kernels.layouts import EncodedRows


def encoded_subgraph(rows: EncodedRows, bound: int) -> Subgraph:
    """Bring encoded rows, whose columns are below `bound`, into the form that visits take.

    Raises ValueError for offsets that do not ascend within the stream, for rows that end too early, and when
    there are not as many columns as the rows say.
    """
    offsets = count_neighbours(rows)
    if int(offsets[-1]) != rows.arc_count:
        raise ValueError(f"the rows hold {int(offsets[-1])} arcs; {rows.arc_count} were expected")
    largest = largest_vertex(max(bound, 1), numpy.dtype(rows.dtype))
    columns = readable(rows)._replace(largest=largest)
    return Subgraph(offsets.astype(numpy.uint32) if rows.arc_count < 1 << 32 else offsets, columns)


def encoded_bytes(part: RankGraph) -> int:
    """Count the bytes of a rank's rows: streams, their offsets, and row offsets."""
    total = 0
    for name in SUBGRAPHS:
        offsets, read = part.subgraph(name)
        columns: Any = read
        arrays = (columns.byte_offsets, columns.stream) if hasattr(columns, "stream") else (columns,)
        total += int(offsets.nbytes) + sum(int(array.nbytes) for array in arrays)
    return total
