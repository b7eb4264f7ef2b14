"""Columns that a compressed graph of codec `csr` stores as bytes, read in slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.kernels.placement.device_copies import on_host
from gravel.stages.artifacts import Graph
from gravel.stages.errors import StageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.artifacts import CompressedGraph


class ByteColumns:
    """Columns in an array of bytes, uint8 (arcs * itemsize,), which is read where a slice is asked for."""

    def __init__(self, stream: Any, dtype: Any) -> None:
        import numpy

        self.dtype = numpy.dtype(dtype)
        self._stream = stream

    def __len__(self) -> int:
        return int(len(self._stream) // self.dtype.itemsize)

    def __getitem__(self, wanted: slice) -> NDArray[Any]:
        import numpy

        first, last, _ = wanted.indices(len(self))
        out = numpy.empty(max(0, last - first), self.dtype)
        self.read_into(out, first)
        return out

    def read_into(self, out: NDArray[Any], first: int = 0) -> None:
        """Read the columns from `first` on into `out`."""
        import numpy

        from gravel.kernels.placement.pinned import fill

        fill(out.view(numpy.uint8), self._stream, first * self.dtype.itemsize)


def columns_as_stored(stored: CompressedGraph) -> Graph:
    """Give back a graph of codec `csr` whose columns stay where they are stored.

    Raises `StageError` where there are not as many bytes as the graph has columns.
    """
    import numpy

    from gravel.kernels.index import index_dtype

    n, dtype = stored.vertex_count, numpy.dtype(index_dtype(stored.vertex_count))
    byte_offsets = on_host(stored.byte_offsets)
    size = stored.arc_count * dtype.itemsize
    if len(byte_offsets) != n + 1 or len(stored.stream) != size or int(byte_offsets[-1]) != size:
        raise StageError(
            f"the stream has {len(stored.stream)} bytes; {stored.arc_count} columns of {dtype} were expected",
            hint="the compressed graph is damaged; compress it again",
        )
    columns: Any = ByteColumns(stored.stream, dtype)
    return Graph(
        row_offsets=byte_offsets // dtype.itemsize,
        column_indices=columns,
        vertex_count=n,
        arc_count=stored.arc_count,
        symmetric=stored.symmetric,
        sorted=stored.sorted,
        deduplicated=stored.deduplicated,
        loop_count=stored.loop_count,
    )
