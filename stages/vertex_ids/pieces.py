"""The edges of one of many files, and many of those as one graph, in bounded memory of the host."""

from __future__ import annotations

import copy
import math
import tempfile
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from gravel.stages.artifacts import EdgeList, EdgePiece, VertexIds
from gravel.stages.context import MemorySink
from gravel.stages.readers import Chunk, Header, TextChunk
from gravel.stages.texts import Texts
from gravel.stages.threads import in_order
from gravel.stages.vertex_ids.edges import NARROW, numbered, numbered_texts, written

if TYPE_CHECKING:
    from gravel.stages.context import Context

ROWS = 1 << 18
"""Edges and ids that are at work at a time."""

MAX_SORTED = 0x7FF00000
"""Ids of one file up to which its edges are sorted: keys of such positions are numbers as float64, too."""


def piece_of(context: Context, edges: EdgeList, ids: VertexIds, memory: int) -> EdgePiece:
    """Sort the edges of a file."""
    header = Header(weighted=edges.weight is not None)
    made = written(context, header, _in_order(context, edges, memory), ids.vertex_count, len(edges.source))
    return EdgePiece(source=made.source, target=made.target, weight=made.weight, **vars(ids))


def _in_order(context: Context, edges: EdgeList, memory: int) -> Iterator[Chunk]:
    """Yield edges by source, target and weight.

    They are sorted in place: as numbers, or with weights as complex ones, which go by the real part first.
    What takes more than half of the memory is sorted in the pages of a file.
    """
    columns, count = (edges.source, edges.target, edges.weight), len(edges.source)
    if edges.vertex_count > MAX_SORTED:
        for rows in _slices(count):
            yield Chunk(*(column if column is None else column[rows] for column in columns))  # type: ignore[arg-type]
        return
    source, target, weight = columns
    keys = _room(context, (count,), numpy.uint64 if weight is None else numpy.complex128, memory // 2)
    real = keys if weight is None else keys.real
    for rows in _slices(count):
        key = source[rows].astype(numpy.uint64) << numpy.uint64(32) | target[rows]
        real[rows] = key if weight is None else key.view(numpy.float64)
        if weight is not None:
            keys.imag[rows] = weight[rows]
    keys.sort()
    for rows in _slices(count):
        key = numpy.ascontiguousarray(real[rows]).view(numpy.uint64)
        values = None if weight is None else numpy.ascontiguousarray(keys.imag[rows])
        yield Chunk(key >> numpy.uint64(32), key & numpy.uint64(NARROW - 1), values)


def merged(context: Context, pieces: Sequence[EdgePiece], memory: int) -> tuple[EdgeList, VertexIds]:
    """Merge pieces of one kind, in their order.

    Their distinct ids are numbered as if each two were an edge: the ends of those edges are the ranks of a
    piece's ids, in which the ends of its edges are looked up.
    """
    pieces = [piece for piece in pieces if len(piece.source)]
    texts = any(piece.text is not None for piece in pieces)
    number: Any = numbered_texts if texts else numbered
    ids: Any = _texts(pieces, memory // 64) if texts else _integers(pieces)
    beside: Any = copy.copy(context)  # the ranks go with the stage; arrays of unknown length are the ids
    beside.sink = lambda dtype, row_shape=(), *, rows=None: (
        context.sink(dtype, row_shape) if rows is None else _Ranks(context, dtype, rows, memory // 8)
    )
    ranks, vertices = number(beside, Header(texts=texts), ids, SimpleNamespace(), memory)
    count, threads = sum(len(piece.source) for piece in pieces), context.machine.threads

    def parts() -> Iterator[tuple[NDArray[Any], EdgePiece, slice]]:
        place = 0
        for piece in pieces:
            last = place + (piece.vertex_count + 1) // 2
            of_ids = _room(context, (last - place, 2), ranks.source.dtype, memory // (8 * threads))
            for rows in _slices(last - place):
                pairs = slice(place + rows.start, place + rows.stop)
                of_ids[rows, 0], of_ids[rows, 1] = ranks.source[pairs], ranks.target[pairs]
            for rows in _slices(len(piece.source)):
                yield of_ids.reshape(-1), piece, rows
            place = last

    header = Header(weighted=any(piece.weight is not None for piece in pieces))
    chunks = in_order(_with_ranks, parts(), threads)
    return written(context, header, chunks, vertices.vertex_count, rows=count), vertices


class _Ranks(MemorySink):
    """An array that is in memory or, if it takes more than `most` bytes, in the pages of a file."""

    def __init__(self, context: Context, dtype: Any, rows: int, most: int) -> None:
        self._taken = lambda rows: _room(context, (rows,), dtype, most)  # type: ignore[method-assign]
        super().__init__(dtype, rows=rows)


def _with_ranks(part: tuple[NDArray[Any], EdgePiece, slice]) -> Chunk:
    ranks, piece, rows = part
    weight = None if piece.weight is None else piece.weight[rows]
    return Chunk(ranks[piece.source[rows]], ranks[piece.target[rows]], weight)


def _room(context: Context, shape: tuple[int, ...], dtype: Any, most: int) -> NDArray[Any]:
    """Return an array in memory or, if it takes more than `most` bytes, in the pages of a file."""
    if math.prod(shape) * numpy.dtype(dtype).itemsize <= most:
        return numpy.empty(shape, dtype)
    with tempfile.TemporaryFile(dir=context.scratch) as file:
        return numpy.memmap(file, dtype, "w+", 0, shape)


def _slices(count: int) -> Iterator[slice]:
    return (slice(first, min(first + ROWS, count)) for first in range(0, count, ROWS))


def _integers(pieces: Sequence[EdgePiece]) -> Iterator[Chunk]:
    """Yield the ids of each piece in pairs."""
    for piece in pieces:
        for rows in _slices(piece.vertex_count):
            first = piece.first
            ids = (
                numpy.arange(first + rows.start, first + rows.stop) if piece.ids is None else piece.ids[rows]
            )
            ids = ids.astype(numpy.int64, copy=False)
            yield Chunk(
                ids[::2].copy(), numpy.append(ids, ids[-1:])[1::2][: (len(ids) + 1) // 2].copy(), None
            )


def _texts(pieces: Sequence[EdgePiece], size: int) -> Iterator[TextChunk]:
    """Yield the ids of each piece in pairs, about `size` bytes of them at a time."""
    for piece in pieces:
        assert piece.text is not None
        assert piece.offsets is not None
        first = 0
        while first < piece.vertex_count:
            ends = piece.offsets[first : first + ROWS + 1]
            fit = int(numpy.searchsorted(ends, ends[0] + size, side="right")) - 1
            count = min(len(ends) - 1, max(2, fit // 2 * 2))  # an even number, but of the last ones
            texts = Texts(piece.text[ends[0] : ends[count]], ends[: count + 1] - ends[0])
            yield TextChunk(
                texts if count % 2 == 0 else texts.taken(numpy.append(numpy.arange(count), count - 1)), None
            )
            first += count
