"""Encoded rows of a rank's subgraphs on a device, as `kernels/partition/ranks_encoded.cu` takes them."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.layouts import EncodedRows, decode
from gravel.kernels.layouts.readers import KINDS
from gravel.kernels.partition.layout import RankGraph, Subgraph


def layout_of(part: RankGraph) -> str | None:
    """Name the layout of a rank's rows, which is the same for all its subgraphs; None of columns."""
    for layout, kind in KINDS.items():
        if isinstance(part.nn.column_indices, kind):
            return layout
    return None


class DeviceRows:
    """The encoded rows of one subgraph (`gravel.kernels.partition.encoded`), and the kernel's `Rows`."""

    def __init__(self, subgraph: Subgraph, layout: str) -> None:
        import cupy

        rows = encoded_rows(subgraph, layout)
        if layout == "varint":
            from gravel.kernels.layouts.varint import add_checkpoints

            # Without them a row is one unit, and a hub's would be a single warp's work.
            offsets = subgraph.row_offsets.astype(numpy.int64, copy=False)
            rows = add_checkpoints(rows, decoded(subgraph, layout), offsets)
        names = [name for name in ("byte_offsets", "stream", "checkpoints") if name in rows.arrays]
        self.arrays = [cupy.asarray(rows.arrays[name]) for name in names]
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
