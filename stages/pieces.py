"""The edges of one of many files as an `EdgePiece`: sorted, under positions among the file's distinct ids."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from gravel.stages.artifacts import EdgeList, EdgePiece, VertexIds
from gravel.stages.context import MemorySink
from gravel.stages.readers import Chunk
from gravel.stages.vertex_ids.spool import NARROW, Spool

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from gravel.stages.artifact import Array
    from gravel.stages.context import Context, Sink

ROWS = 1 << 18
"""Edges and ids that are at work at a time."""

SORTED_BYTES = 64
"""Of each edge that is sorted in memory: ends, weight, key, order, and the results."""

MOST_PARTS = 512
"""Files in which edges of one piece wait to be sorted, a range of sources in each."""


class Heard:
    """A context of the stage that reads one file, whose remarks go into the piece."""

    keeps_device_arrays = False

    def __init__(self, context: Context, *, in_memory: bool) -> None:
        self._context, self._in_memory = context, in_memory
        self.remarks: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def sink(self, dtype: DTypeLike, row_shape: tuple[int, ...] = (), *, rows: int | None = None) -> Sink:
        """Start an array of edges in the order of the file, which are not kept."""
        if self._in_memory:
            return MemorySink(dtype, row_shape, rows=rows)
        return self._context.sink(dtype, row_shape, rows=rows)

    def remark(self, message: str) -> None:
        """Keep what concerns the file."""
        self.remarks.append(message)


def piece_of(context: Context, edges: EdgeList, ids: VertexIds, remarks: list[str], memory: int) -> EdgePiece:
    """Sort the edges of a file, in about `memory` bytes, and digest them and their ids."""
    columns = _columns(edges)
    digests = [hashlib.blake2b(digest_size=32) for _ in columns]
    sinks = [context.sink(each.dtype, rows=len(each)) for each in columns if each is not None]
    for chunk in _in_order(edges, context.scratch, memory):
        arrays = [each for each in chunk[:3] if each is not None]
        for sink, array, column, digest in zip(sinks, arrays, columns, digests, strict=False):
            rows: Any = numpy.ascontiguousarray(array, column.dtype)
            digest.update(rows)
            sink.append(rows)
    digest = hashlib.blake2b(b"".join(each.digest() for each in digests), digest_size=32)
    numbers = ids.ids
    if numbers is not None and len(numbers) and int(numbers[-1:][0]) < NARROW:
        narrow = context.sink(numpy.uint32, rows=len(numbers))
        for block in _blocks(numbers):
            narrow.append(block.astype(numpy.uint32))
        numbers = narrow.close()
    for each in (numbers, ids.offsets, ids.text):
        for block in () if each is None else _blocks(each):
            digest.update(block)
    digest.update(f"{len(edges.source)} {ids.first} {ids.vertex_count} {edges.undirected}".encode())
    source, target, weight = [*(sink.close() for sink in sinks), None][:3]
    assert source is not None
    assert target is not None
    return EdgePiece(
        source=source,
        target=target,
        weight=weight,
        ids=numbers,
        first=ids.first,
        vertex_count=ids.vertex_count,
        text=ids.text,
        offsets=ids.offsets,
        undirected=edges.undirected,
        digest=digest.hexdigest(),
        remarks=remarks,
    )


def _in_order(edges: EdgeList, folder: Path, memory: int) -> Iterator[Chunk]:
    """Yield edges by source and target; those of equal ends stay in the order of the file."""
    count = len(edges.source)
    parts = min(MOST_PARTS, 1 + SORTED_BYTES * count // memory)
    if parts == 1:
        yield _sorted(_taken(_columns(edges), slice(None)))
        return
    narrow = edges.vertex_count < NARROW
    spools = [Spool(folder, 0, weighted=edges.weight is not None) for _ in range(parts)]
    step = 1 + count // (256 * parts)
    sample = numpy.sort(numpy.concatenate([_keys(chunk)[::step] for chunk in _chunks(edges)]))
    bounds = sample[numpy.arange(1, parts) * len(sample) // parts]
    for chunk in _chunks(edges):
        part_of = numpy.searchsorted(bounds, _keys(chunk), side="right")
        for part in numpy.unique(part_of):
            spools[part].append(_taken(chunk[:3], part_of == part), narrow=narrow)
    for spool in spools:
        waiting = list(spool)
        if waiting:
            yield _sorted(Chunk(*(_joined([chunk[place] for chunk in waiting]) for place in range(3))))
        spool.close()


def _columns(edges: EdgeList) -> tuple[Any, Any, Any]:
    return edges.source, edges.target, edges.weight


def _taken(columns: tuple[Any, Any, Any], rows: Any) -> Chunk:
    source, target, weight = columns
    return Chunk(source[rows], target[rows], None if weight is None else weight[rows])


def _chunks(edges: EdgeList) -> Iterator[Chunk]:
    for first in range(0, len(edges.source), ROWS):
        yield _taken(_columns(edges), slice(first, first + ROWS))


def _blocks(array: Array) -> Iterator[Any]:
    for first in range(0, len(array), 4 * ROWS):
        yield numpy.ascontiguousarray(array[first : first + 4 * ROWS])


def _joined(arrays: list[Any]) -> Any:
    return None if arrays[0] is None else numpy.concatenate(arrays)


def _keys(chunk: Chunk) -> NDArray[Any]:
    """Return numbers that ascend with source and, where both fit, target."""
    keys = chunk.source.astype(numpy.uint64)
    if chunk.source.dtype == numpy.uint32:
        keys <<= numpy.uint64(32)
        keys |= chunk.target
    return keys


def _sorted(chunk: Chunk) -> Chunk:
    if chunk.source.dtype != numpy.uint32:
        order = numpy.lexsort((chunk.target, chunk.source))
    elif chunk.weight is None:
        keys = _keys(chunk)
        keys.sort()
        return Chunk((keys >> numpy.uint64(32)).astype(numpy.uint32), keys.astype(numpy.uint32), None)
    else:
        order = numpy.argsort(_keys(chunk), kind="stable")
    weight = None if chunk.weight is None else chunk.weight[order]
    return Chunk(chunk.source[order], chunk.target[order], weight)
