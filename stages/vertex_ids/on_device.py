"""Edge lists by index, made of edges by file id on a GPU, with the indices that the CPU gives.

Edges stay on the device while there is room; then all of them are set aside on the host, and pass through
the device once more to be counted and once to be numbered. Where even a set of the ids does not fit there,
the CPU numbers them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy

from gravel.kernels.arrays import backend_of, index_dtype, on_host
from gravel.kernels.buffers import exact
from gravel.kernels.cuda.room import is_out_of_memory
from gravel.kernels.ids.buffers import bitmap, from_anywhere
from gravel.kernels.ids.cuda import BITS, Bitmap, Table, shifted
from gravel.stages.artifacts import EdgeList, VertexIds
from gravel.stages.readers import Chunk

if TYPE_CHECKING:
    from gravel.kernels.text.upload_cuda import TextBuffers
    from gravel.stages.context import Context
    from gravel.stages.readers import DeviceText, Header
    from gravel.stages.vertex_ids.edges import Spool


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


class _Output:
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


def numbered_on_device(
    context: Context, header: Header, chunks: Iterator[Chunk], device: DeviceText, *, memory: int, room: int
) -> tuple[EdgeList, VertexIds]:
    """Number the edges that a reader yields, within `memory` bytes of the host and `room` of the device."""
    if header.vertex_count is not None:
        dtype = index_dtype(header.vertex_count)
        output = _Output(context, header, device.text, dtype, room=room)
        device.make_room = output.to_host
        for chunk in chunks:
            output.append(*_shifted(chunk, header.first_id, dtype))
        ids = VertexIds(first=header.first_id, vertex_count=header.vertex_count)
        return output.close(header.vertex_count), ids
    edges = _Edges(context, header, memory, room)
    device.make_room = edges.set_aside
    try:
        for chunk in chunks:
            edges.add(chunk)
        occurring = edges.occurring()
        if occurring is None:
            return edges.numbered_on_host()
        return edges.numbered(occurring, device)
    finally:
        device.make_room = lambda: None
        edges.close()


def _shifted(chunk: Chunk, first: int, dtype: Any) -> tuple[Any, Any, Any | None]:
    """Subtract the first id, on the device if it has room."""
    try:
        source, target, weight = _on_device(chunk)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        source, target = ((ids - first).astype(dtype) for ids in (chunk.source, chunk.target))
        return source, target, chunk.weight
    return shifted(source, first, dtype), shifted(target, first, dtype), weight


def _on_device(chunk: Chunk) -> tuple[Any, Any, Any | None]:
    import cupy

    if backend_of(chunk.source) == "cuda":
        return chunk.source, chunk.target, chunk.weight
    ends = (
        cupy.asarray(ids if ids.dtype == numpy.uint32 else ids.view(numpy.uint64))
        for ids in (chunk.source, chunk.target)
    )
    return *ends, cupy.asarray(chunk.weight) if chunk.weight is not None else None


class _Edges:
    """Edges by file id, on the device or in a spool, and the range of their ids."""

    def __init__(self, context: Context, header: Header, memory: int, room: int) -> None:
        self._context, self._header, self._memory, self._room = context, header, memory, room
        self._kept: deque[tuple[Any, Any, Any | None]] = deque()
        self._bytes = 0
        self._spool: Spool | None = None
        self._least, self._most = 1 << 63, -1
        self._count = 0

    def add(self, chunk: Chunk) -> None:
        """Add edges at the end."""
        least, most = chunk.bounds or _bounds(chunk)
        self._least, self._most = min(self._least, least), max(self._most, most)
        self._count += len(chunk.source)
        size = sum(array.nbytes for array in chunk[:3] if array is not None)
        if self._spool is None and self._bytes + size > max(
            self._room // 2, self._room - exact(bitmap(BITS))
        ):
            self.set_aside()
        if self._spool is not None:
            self._spool_away(*chunk[:3])
            return
        try:
            self._kept.append(_on_device(chunk))
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            self.set_aside()
            self._spool_away(*chunk[:3])
            return
        self._bytes += size

    def set_aside(self) -> None:
        """Move all edges to the host, and those to come."""
        from gravel.stages.vertex_ids.edges import Spool

        if self._spool is not None:
            return
        self._context.log(
            f"{self._count:,} edges and those to come are set aside on the host: the GPU has no room for them"
        )
        self._spool = Spool(self._context.scratch, self._memory // 8, weighted=self._header.weighted)
        while self._kept:
            self._spool_away(*self._kept.popleft())
        self._bytes = 0

    def _spool_away(self, source: Any, target: Any, weight: Any | None) -> None:
        assert self._spool is not None
        narrow = source.dtype == numpy.uint32
        self._spool.append(Chunk(on_host(source), on_host(target), on_host(weight)), narrow=narrow)

    def _pieces(self, *, last: bool) -> Iterator[tuple[Any, Any, Any | None]]:
        """Yield all edges as arrays of the device; those that are there are let go if it is the last time."""
        if self._spool is not None:
            yield from map(_on_device, self._spool)
        elif last:
            while self._kept:
                yield self._kept.popleft()
        else:
            yield from self._kept

    def occurring(self) -> Bitmap | Table | None:
        """Return the set of all ids, on the device; None if it has no room for that."""
        span = self._most - self._least + 1
        if not self._count:
            return None
        left = self._room - self._bytes
        try:
            if span <= BITS and exact(bitmap(span)) <= left:
                return self._added(Bitmap(self._least, self._most))
            if self._spool is None and exact(from_anywhere(self._count)) <= left:
                return self._added(Table())
        except Exception as error:
            if not is_out_of_memory(error):
                raise
        self._context.log(
            f"the CPU numbers ids from {self._least:,} to {self._most:,}: "
            "the GPU has no room for a set of them"
        )
        return None

    def _added(self, ids: Bitmap | Table) -> Bitmap | Table:
        for source, target, _ in self._pieces(last=False):
            ids.add(source)
            ids.add(target)
        ids.finish()
        return ids

    def numbered(self, occurring: Bitmap | Table, device: DeviceText) -> tuple[EdgeList, VertexIds]:
        """Replace ids by their ranks in a set of them."""
        count, first = occurring.count, self._least
        dtype = index_dtype(count)
        consecutive = self._most - first + 1 == count
        # What was set aside on the host had no room on the device, and has none now.
        room = self._room if self._spool is None else 0
        output = _Output(self._context, self._header, device.text, dtype, room=room, rows=self._count)
        for source, target, weight in self._pieces(last=True):
            if consecutive:
                source, target = shifted(source, first, dtype), shifted(target, first, dtype)
            else:
                source, target = occurring.ranks(source, dtype), occurring.ranks(target, dtype)
            output.append(source, target, weight)
        edges = output.close(count)
        if consecutive:
            return edges, VertexIds(first=first, vertex_count=count)
        sink = self._context.sink(numpy.int64)
        for part in device.text.download(occurring.ids()):
            sink.append(part)
        return edges, VertexIds(ids=sink.close(), vertex_count=count)

    def numbered_on_host(self) -> tuple[EdgeList, VertexIds]:
        """Number all edges as without a device."""
        from gravel.stages.vertex_ids.edges import from_spool
        from gravel.stages.vertex_ids.ids import IdSet

        self.set_aside()
        assert self._spool is not None
        ids = IdSet(self._context.scratch, self._memory // 2)
        try:
            for chunk in self._spool:
                ids.add(chunk.source.astype(numpy.int64, copy=False))
                ids.add(chunk.target.astype(numpy.int64, copy=False))
            return from_spool(self._context, self._header, self._spool, ids, self._memory)
        finally:
            ids.close()

    def close(self) -> None:
        """Give up memory and disk."""
        self._kept.clear()
        if self._spool is not None:
            self._spool.close()


def _bounds(chunk: Chunk) -> tuple[int, int]:
    ends = chunk.source, chunk.target
    return min(int(ids.min()) for ids in ends), max(int(ids.max()) for ids in ends)
