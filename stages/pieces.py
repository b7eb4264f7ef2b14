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
    digest = hashlib.blake2b(digest_size=32)
    names = ("source", "target", "weight")
    rows, sinks = len(edges.source), {}
    for name in names:
        array = getattr(edges, name)
        sinks[name] = None if array is None else context.sink(array.dtype, rows=rows)
    for chunk in _in_order(edges, context.scratch, memory):
        for name in names:
            sink = sinks[name]
            if sink is not None:
                array = numpy.ascontiguousarray(getattr(chunk, name), getattr(edges, name).dtype)
                digest.update(array)
                sink.append(array, given=True)
    for ids_array in (ids.ids, ids.offsets, ids.text):
        for first in range(0, 0 if ids_array is None else len(ids_array), 4 * ROWS):
            digest.update(numpy.ascontiguousarray(ids_array[first : first + 4 * ROWS]))  # type: ignore[index]
    digest.update(f"{rows} {ids.first} {ids.vertex_count} {edges.undirected}".encode())
    return EdgePiece(
        **{name: None if sink is None else sink.close() for name, sink in sinks.items()},
        ids=ids.ids,
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
        yield _sorted(Chunk(*(None if each is None else each[:] for each in _columns(edges))))  # type: ignore[arg-type]
        return
    narrow = edges.vertex_count < NARROW
    spools = [Spool(folder, 0, weighted=edges.weight is not None) for _ in range(parts)]
    step = 1 + count // (256 * parts)
    sample = numpy.sort(numpy.concatenate([_keys(chunk)[::step] for chunk in _chunks(edges)]))
    bounds = sample[numpy.arange(1, parts) * len(sample) // parts]
    for chunk in _chunks(edges):
        part_of = numpy.searchsorted(bounds, _keys(chunk), side="right")
        for part in numpy.unique(part_of):
            chosen = part_of == part
            spools[part].append(
                Chunk(*(None if each is None else each[chosen] for each in chunk[:3])), narrow=narrow
            )  # type: ignore[arg-type]
    for spool in spools:
        waiting = list(spool)
        if waiting:
            yield _sorted(Chunk(*(_joined([chunk[place] for chunk in waiting]) for place in range(3))))
        spool.close()


def _columns(edges: EdgeList) -> tuple[Any, Any, Any]:
    return edges.source, edges.target, edges.weight


def _chunks(edges: EdgeList) -> Iterator[Chunk]:
    for first in range(0, len(edges.source), ROWS):
        yield Chunk(*(None if each is None else each[first : first + ROWS] for each in _columns(edges)))  # type: ignore[arg-type]


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
