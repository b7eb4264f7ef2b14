"""Pieces of one graph become its edge list and its table of ids, in bounded memory of the host.

The distinct ids of all pieces are numbered as those of one file are. An edge's ends are then two look-ups in
the ranks of its piece's ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_dtype
from gravel.stages.artifacts import EdgeList, EdgePiece, VertexIds
from gravel.stages.pieces import ROWS
from gravel.stages.readers import Chunk, Header
from gravel.stages.texts import Texts
from gravel.stages.vertex_ids import edges, text_edges
from gravel.stages.vertex_ids.ids import IdSet
from gravel.stages.vertex_ids.ranks import side_by_side
from gravel.stages.vertex_ids.text_runs import ArrayFile, TextRuns

if TYPE_CHECKING:
    from gravel.stages.context import Context


def merged(context: Context, pieces: Sequence[EdgePiece], memory: int) -> tuple[EdgeList, VertexIds]:
    """Merge pieces of one kind, in their order, within about `memory` bytes."""
    pieces = [piece for piece in pieces if len(piece.source)]
    ranks = ArrayFile(context.scratch)
    try:
        number = _number_texts if any(piece.text is not None for piece in pieces) else _number_integers
        ids = number(context, pieces, ranks, memory)
        dtype = index_dtype(ids.vertex_count)
        # The ranks of so many pieces at a time are in memory; larger ones are pages of their file.
        most = memory // (4 * (context.machine.threads + 2))
        rows = sum(len(piece.source) for piece in pieces)

        def parts() -> Iterator[tuple[NDArray[Any], EdgePiece, slice]]:
            place = done = 0
            for piece in pieces:
                size = piece.vertex_count * dtype.itemsize
                of_ids = (ranks.read if size <= most else ranks.map)(place, piece.vertex_count, dtype)
                for first in range(0, len(piece.source), ROWS):
                    yield of_ids, piece, slice(first, first + ROWS)
                place, done = place + size, done + len(piece.source)
                context.progress(done, rows, "edges merged")

        header = Header(
            undirected=any(piece.undirected for piece in pieces),
            weighted=any(piece.weight is not None for piece in pieces),
        )
        chunks = side_by_side(_numbered, parts(), context.machine.threads)
        return edges.written(context, header, chunks, ids.vertex_count, rows=rows), ids
    finally:
        ranks.close()


def _numbered(part: tuple[NDArray[Any], EdgePiece, slice]) -> Chunk:
    ranks, piece, rows = part
    weight = None if piece.weight is None else piece.weight[rows]
    return Chunk(ranks[piece.source[rows]], ranks[piece.target[rows]], weight)


def _number_integers(
    context: Context, pieces: Sequence[EdgePiece], ranks: ArrayFile, memory: int
) -> VertexIds:
    """Number whole numbers, and append the ranks of each piece's ids to `ranks`."""
    ids = IdSet(context.scratch, memory // 2)
    try:
        for _ in side_by_side(ids.add, _integers(pieces, 4 * ROWS), context.machine.threads):
            pass
        ids.finish()
        dtype = index_dtype(ids.count)
        if ids.fits or ids.consecutive:
            blocks = _integers(pieces, ROWS)
            for found in side_by_side(lambda block: ids.ranks(block, dtype), blocks, context.machine.threads):
                ranks.append(found)
        else:
            # Each block is looked up in the whole table, a stretch at a time.
            for block in _integers(pieces, max(ROWS, memory // 128)):
                found = numpy.empty(len(block), numpy.int64)
                ids.covered_ranks(block, found)
                for first, stretch in ids.sparse_blocks():
                    ids.sparse_ranks(stretch, first, block, found)
                ranks.append(found.astype(dtype))
        return edges.table(context, ids)
    finally:
        ids.close()


def _integers(pieces: Sequence[EdgePiece], rows: int) -> Iterator[NDArray[numpy.int64]]:
    """Yield the ids of all pieces in their order, so many at a time."""
    waiting: list[NDArray[numpy.int64]] = []
    count = 0
    for piece in pieces:
        for first in range(0, piece.vertex_count, rows):
            last = min(first + rows, piece.vertex_count)
            if piece.ids is None:
                block = numpy.arange(piece.first + first, piece.first + last)
            else:
                block = piece.ids[first:last].astype(numpy.int64, copy=False)
            waiting.append(block)
            count += len(block)
            if count >= rows:
                yield numpy.concatenate(waiting)
                waiting, count = [], 0
    if waiting:
        yield numpy.concatenate(waiting)


def _number_texts(context: Context, pieces: Sequence[EdgePiece], ranks: ArrayFile, memory: int) -> VertexIds:
    """Number texts, and append the ranks of each piece's ids to `ranks`."""
    threads = context.machine.threads
    runs, codes = TextRuns(context.scratch, memory // 2), ArrayFile(context.scratch)
    coded: list[tuple[int, int, int]] = []
    try:
        for of, found in side_by_side(runs.add, _texts(pieces, memory // (16 * (threads + 2))), threads):
            coded.append((of, codes.append(found), len(found)))
            runs.added(of)
        runs.finish()
        ids = text_edges.table(context, runs)
        dtype = index_dtype(ids.vertex_count)
        for of, place, count in coded:
            ranks.append(runs.ranks(of)[codes.read(place, count, numpy.int64)].astype(dtype))
        return ids
    finally:
        runs.close()
        codes.close()


def _texts(pieces: Sequence[EdgePiece], size: int) -> Iterator[Texts]:
    """Yield the ids of all pieces in their order, about `size` bytes of them at a time."""
    for piece in pieces:
        assert piece.text is not None
        assert piece.offsets is not None
        first = 0
        while first < piece.vertex_count:
            ends = piece.offsets[first : first + ROWS + 1]
            count = max(1, int(numpy.searchsorted(ends, ends[0] + size, side="right")) - 1)
            yield Texts(piece.text[ends[0] : ends[count]], ends[: count + 1] - ends[0])
            first += count
