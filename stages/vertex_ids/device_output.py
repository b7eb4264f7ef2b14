"""Edges by index on their way from the device into an edge list: they stay there, or pass through sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from gravel.kernels.arrays import backend_of
from gravel.kernels.cuda.room import is_out_of_memory
from gravel.stages.artifacts import EdgeList

if TYPE_CHECKING:
    from gravel.kernels.text.upload_cuda import TextBuffers
    from gravel.stages.context import Context
    from gravel.stages.readers import Header


class _Column:
    """An array that grows: in parts on the device, or in a sink of the host."""

    def __init__(
        self, context: Context, text: TextBuffers, dtype: Any, rows: int | None, *, kept: bool
    ) -> None:
        self._context, self._text, self._dtype, self._rows = context, text, dtype, rows
        self._parts: list[Any] = []
        self._sink = None if kept else context.sink(dtype, rows=rows)

    def append(self, array: Any) -> None:
        if self._sink is None:
            self._parts.append(array)
        elif backend_of(array) == "cpu":
            self._sink.append(array)
        else:
            for part in self._text.download(array):
                self._sink.append(part)

    def to_host(self) -> None:
        if self._sink is None:
            self._sink = self._context.sink(self._dtype, rows=self._rows)
            parts, self._parts = self._parts[::-1], []
            while parts:
                self.append(parts.pop())

    def join(self) -> None:
        import cupy

        if self._sink is None and len(self._parts) != 1:
            empty = cupy.empty(0, self._dtype)
            self._parts = [cupy.concatenate(self._parts) if self._parts else empty]

    def close(self) -> Any:
        return self._parts[0] if self._sink is None else self._sink.close()


class DeviceOutput:
    """An edge list that grows by arrays of the device, with vertices of type `dtype`.

    `rows` is the number of edges where that is known. The arrays stay on the device if the context keeps such
    results and `room` bytes hold them, and one of them once more while its parts are joined.
    """

    def __init__(
        self,
        context: Context,
        header: Header,
        text: TextBuffers,
        dtype: Any,
        *,
        room: int,
        rows: int | None = None,
    ) -> None:
        self._context, self._header, self._room = context, header, room
        self._bytes = 0
        self._kept = context.keeps_device_arrays
        types = [dtype, dtype, *([numpy.dtype(numpy.float64)] if header.weighted else [])]
        self._columns = [_Column(context, text, each, rows, kept=self._kept) for each in types]
        self._widest = max(each.itemsize for each in types) / sum(each.itemsize for each in types)

    def append(self, source: Any, target: Any, weight: Any | None) -> None:
        """Add edges at the end, of the device or the host."""
        arrays = [array for array in (source, target, weight) if array is not None]
        self._bytes += sum(array.nbytes for array in arrays)
        if backend_of(source) == "cpu" or self._bytes * (1 + self._widest) > self._room:
            self.to_host()
        for column, array in zip(self._columns, arrays, strict=True):
            column.append(array)

    def to_host(self) -> None:
        """Move to the host what is there, and what is to come."""
        if not self._kept:
            return
        self._kept = False
        self._context.log("the edges go to the host: the GPU has no room for all of them")
        for column in self._columns:
            column.to_host()

    def close(self, vertices: int) -> EdgeList:
        """Return them all."""
        try:
            for column in self._columns:
                column.join()
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            self.to_host()
        arrays = [column.close() for column in self._columns]
        return EdgeList(
            source=arrays[0],
            target=arrays[1],
            weight=arrays[2] if len(arrays) > 2 else None,
            vertex_count=vertices,
            undirected=self._header.undirected,
            ends_unordered=self._header.ends_unordered,
        )
