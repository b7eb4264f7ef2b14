"""Edges by index on their way from the device into an edge list: through sinks, or where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from gravel.kernels.strategy import backend_of
from gravel.stages.artifacts import EdgeList

if TYPE_CHECKING:
    from gravel.kernels.text.upload_cuda import TextBuffers
    from gravel.stages.context import Context
    from gravel.stages.readers import Header


class _Sunk:
    """A column that the host takes in parts."""

    def __init__(self, context: Context, text: TextBuffers, dtype: Any, rows: int | None) -> None:
        self._sink, self._text = context.sink(dtype, rows=rows), text

    def append(self, array: Any) -> None:
        if backend_of(array) == "cpu":
            self._sink.append(array)
            return
        for part in self._text.download(array):
            self._sink.append(part)

    def close(self) -> Any:
        return self._sink.close()


class _Kept:
    """A column that stays on the device."""

    def __init__(self, dtype: Any) -> None:
        self._dtype = dtype
        self._parts: list[Any] = []

    def append(self, array: Any) -> None:
        self._parts.append(array)

    def close(self) -> Any:
        import cupy

        parts, self._parts = self._parts, []
        if len(parts) == 1:
            return parts[0]
        return cupy.concatenate(parts) if parts else cupy.empty(0, self._dtype)


class DeviceOutput:
    """An edge list that grows by arrays of the device, with vertices of type `dtype`.

    `rows` is the number of edges where that is known; `kept` leaves them on the device.
    """

    def __init__(
        self,
        context: Context,
        header: Header,
        text: TextBuffers,
        dtype: Any,
        *,
        rows: int | None = None,
        kept: bool,
    ) -> None:
        def column(dtype: Any) -> _Kept | _Sunk:
            return _Kept(dtype) if kept else _Sunk(context, text, dtype, rows)

        self._undirected = header.undirected
        self._source, self._target = column(dtype), column(dtype)
        self._weight = column(numpy.float64) if header.weighted else None

    def append(self, source: Any, target: Any, weight: Any | None) -> None:
        """Add edges at the end; arrays of the host only where none is kept on the device."""
        self._source.append(source)
        self._target.append(target)
        if self._weight is not None and weight is not None:
            self._weight.append(weight)

    def close(self, vertices: int) -> EdgeList:
        """Return them all."""
        return EdgeList(
            source=self._source.close(),
            target=self._target.close(),
            weight=self._weight.close() if self._weight is not None else None,
            vertex_count=vertices,
            undirected=self._undirected,
        )
