"""Ranks whose rows are encoded, in host memory and on a device: searches decode a row where they read it.

A subgraph has its row offsets, counted from the encoded rows, and for columns what
`gravel.kernels.layouts.readers.readable` makes of these; `gravel.kernels.layouts.spans` reads both
kinds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.layouts import EncodedRows, decode, registry
from gravel.kernels.layouts.readers import StreamRows, count_neighbours, readable
from gravel.kernels.layouts.streams import largest_vertex
from gravel.kernels.partition.layout import SUBGRAPHS, RankGraph, Subgraph


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


def layout_of(part: RankGraph) -> str | None:
    """Name the layout of a rank's rows, which is the same for all its subgraphs; None of columns."""
    columns: Any = part.nn.column_indices
    return columns.layout if isinstance(columns, StreamRows) else None


class DeviceRows:
    """The encoded rows of one subgraph (`gravel.kernels.partition.encoded`), and the kernel's `Rows`."""

    def __init__(self, subgraph: Subgraph, layout: str) -> None:
        import cupy

        rows = encoded_rows(subgraph, layout)
        there = replace(rows, arrays={name: cupy.asarray(array) for name, array in rows.arrays.items()})
        # A hub's row is the work of many warps only where each knows where to begin.
        there = registry.layout_of(layout).codec("cuda").searchable(there)
        self.arrays = [there.arrays[name] for name in registry.layout_of(layout).arrays]
        places = [int(array.data.ptr) if len(array) else 0 for array in self.arrays]
        bound = _largest(subgraph) + 1
        self.described = cupy.asarray(numpy.array([*places, bound], numpy.uint64))

    @property
    def nbytes(self) -> int:
        """Count what is on the device."""
        return sum(int(array.nbytes) for array in self.arrays)


def encoded_rows(subgraph: Subgraph, layout: str) -> EncodedRows:
    """Give the rows of a subgraph as `gravel.kernels.layouts` knows them, in host memory."""
    columns: Any = subgraph.column_indices
    arrays = {"byte_offsets": columns.byte_offsets, "stream": columns.stream.view(numpy.uint8)}
    rows, arcs = len(subgraph.row_offsets) - 1, int(subgraph.row_offsets[-1])
    return EncodedRows(layout, rows, arcs, columns.dtype.dtype, arrays)


def decoded(subgraph: Subgraph, layout: str) -> NDArray[Any]:
    """Decode a subgraph's columns on the host."""
    columns: NDArray[Any] = decode(encoded_rows(subgraph, layout), bound=_largest(subgraph) + 1)[1]
    return columns


def _largest(subgraph: Subgraph) -> int:
    columns: Any = subgraph.column_indices
    return int(columns.largest)
