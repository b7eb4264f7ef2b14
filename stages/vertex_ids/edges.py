"""Edge lists by index, and tables of ids, made of edges by file id in bounded memory of the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_dtype
from gravel.stages.artifacts import EdgeList, VertexIds
from gravel.stages.readers import Chunk, Digested, TextChunk
from gravel.stages.threads import in_order
from gravel.stages.vertex_ids.ids import IdSet
from gravel.stages.vertex_ids.ranks import NARROW, Spool, ranked
from gravel.stages.vertex_ids.text_runs import TextRuns

if TYPE_CHECKING:
    from gravel.stages.context import Context
    from gravel.stages.readers import Chunk, Header, Reading


def numbered(
    context: Context, header: Header, chunks: Iterator[Chunk], reading: Reading, memory: int
) -> tuple[EdgeList, VertexIds]:
    """Number the edges that a reader yields, within `memory` bytes of the host.

    The threads that parse do most of it, as long as what they parsed is in their caches.
    """
    if header.vertex_count is not None:
        ids = VertexIds(first=header.first_id, vertex_count=header.vertex_count)
        return _shifted(context, header, chunks, reading, header.vertex_count), ids
    occurring = IdSet(context.scratch, memory // 4)
    spool = Spool(context.scratch, memory // 4, weighted=header.weighted)

    def digest(chunk: Chunk) -> Digested:
        high = max(occurring.add(chunk.source), occurring.add(chunk.target))
        dtype = numpy.uint32 if high < NARROW else numpy.int64
        weight = chunk.weight.copy() if chunk.weight is not None else None
        return Digested(chunk.source.astype(dtype), chunk.target.astype(dtype), weight)

    reading.digest = digest
    try:
        for chunk in chunks:
            digested = chunk if isinstance(chunk, Digested) else digest(chunk)
            spool.append(digested, narrow=digested.source.dtype == numpy.uint32)
        return from_spool(context, header, spool, occurring, memory)
    finally:
        occurring.close()
        spool.close()


def _shifted(
    context: Context, header: Header, chunks: Iterator[Chunk], reading: Reading, vertices: int
) -> EdgeList:
    """Write edges of a header that states its vertices: an index is a subtraction away."""
    dtype = index_dtype(vertices)

    def shift(ids: NDArray[Any]) -> NDArray[Any]:
        out = numpy.empty(len(ids), dtype)
        numpy.subtract(ids, header.first_id, out=out, casting="unsafe")
        return out

    def digest(chunk: Chunk) -> Digested:
        weight = chunk.weight.copy() if chunk.weight is not None else None
        return Digested(shift(chunk.source), shift(chunk.target), weight)

    reading.digest = digest
    digested = (chunk if isinstance(chunk, Digested) else digest(chunk) for chunk in chunks)
    return written(context, header, digested, vertices)


def from_spool(
    context: Context, header: Header, spool: Spool, occurring: IdSet, memory: int
) -> tuple[EdgeList, VertexIds]:
    """Number spooled edges, whose ids were all added to `occurring`; the caller closes both."""
    occurring.finish()
    edges = ranked(
        spool,
        occurring,
        context.scratch,
        memory // 8,
        weighted=header.weighted,
        dtype=index_dtype(occurring.count),
        threads=context.machine.threads,
    )
    listed = written(context, header, edges, occurring.count, rows=spool.edges)
    if occurring.consecutive:
        return listed, VertexIds(first=occurring.first, vertex_count=occurring.count)
    sink = context.sink(numpy.int64)
    for block in occurring.blocks(1 << 20):
        sink.append(block)
    return listed, VertexIds(ids=sink.close(), vertex_count=occurring.count)


def written(
    context: Context, header: Header, chunks: Iterator[Chunk], vertices: int, rows: int | None = None
) -> EdgeList:
    """Write edges by index as an edge list."""
    dtype = index_dtype(vertices)
    source, target = context.sink(dtype, rows=rows), context.sink(dtype, rows=rows)
    weight = context.sink(numpy.float64, rows=rows) if header.weighted else None
    for chunk in chunks:
        source.append(chunk.source.astype(dtype, copy=False))
        target.append(chunk.target.astype(dtype, copy=False))
        if weight is not None and chunk.weight is not None:
            weight.append(chunk.weight)
    return EdgeList(
        source=source.close(),
        target=target.close(),
        weight=weight.close() if weight is not None else None,
        vertex_count=vertices,
        undirected=header.undirected,
        ends_unordered=header.ends_unordered,
    )


class _Coded(NamedTuple):
    """Edges by codes of a set."""

    source: NDArray[Any]
    target: NDArray[Any]
    weight: NDArray[Any] | None
    of: int


def numbered_texts(
    context: Context, header: Header, chunks: Iterator[Any], reading: Reading, memory: int
) -> tuple[EdgeList, VertexIds]:
    """Number the edges that a reader yields, within `memory` bytes of the host."""
    runs = TextRuns(context.scratch, memory // 2)
    spool = Spool(context.scratch, memory // 8, weighted=header.weighted)
    sets: list[int] = []

    def digest(chunk: TextChunk) -> _Coded:
        of, codes = runs.add(chunk.ends)
        dtype = numpy.uint32 if codes.max(initial=0) < NARROW else numpy.int64
        ends = codes.reshape(-1, 2)[:, :: -1 if chunk.swapped else 1]
        source, target = (numpy.ascontiguousarray(ends[:, column], dtype) for column in range(2))
        return _Coded(source, target, None if chunk.weight is None else chunk.weight.copy(), of)

    reading.digest = digest
    try:
        for chunk in chunks:
            coded = chunk if isinstance(chunk, _Coded) else digest(chunk)
            if len(coded.source):  # the spool keeps no empty chunk
                spool.append(Chunk(*coded[:3]), narrow=coded.source.dtype == numpy.uint32)
                sets.append(coded.of)
            runs.added(coded.of)
        runs.finish()
        ids = _table(context, runs)
        dtype = index_dtype(ids.vertex_count)

        def of(numbered: tuple[Chunk, NDArray[Any]]) -> Chunk:
            chunk, ranks = numbered
            source, target = (ranks[end].astype(dtype, copy=False) for end in chunk[:2])
            return Chunk(source, target, chunk.weight)

        pairs = ((chunk, runs.ranks(which)) for chunk, which in zip(spool, sets, strict=True))
        edges = in_order(of, pairs, context.machine.threads)
        return written(context, header, edges, ids.vertex_count, rows=spool.edges), ids
    finally:
        runs.close()
        spool.close()


def _table(context: Context, runs: TextRuns) -> VertexIds:
    """Write all texts, ascending."""
    text, offsets = context.sink(numpy.uint8), context.sink(numpy.int64)
    offsets.append(numpy.zeros(1, numpy.int64))
    end = count = 0
    for block in runs.blocks():
        text.append(block.text)
        offsets.append(block.offsets[1:] + end)
        end += int(block.offsets[-1])
        count += block.size
    return VertexIds(text=text.close(), offsets=offsets.close(), vertex_count=count)
