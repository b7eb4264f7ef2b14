"""Edges by file id, spooled in bounded memory of the host, and edge lists and tables of ids made of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_dtype
from gravel.stages.artifacts import EdgeList, VertexIds
from gravel.stages.readers import Chunk, Digested, TextChunk
from gravel.stages.scratch_file import ScratchFile
from gravel.stages.threads import in_order
from gravel.stages.vertex_ids.ids import IdSet
from gravel.stages.vertex_ids.text_runs import TextRuns

if TYPE_CHECKING:
    from gravel.stages.context import Context
    from gravel.stages.readers import Chunk, Header, Reading

NARROW = 1 << 32
"""Chunks whose ids all lie below this can be kept in 32 bits."""


class Spool:
    """A sequence of chunks that grows at the end and is read from the start, more than once if need be."""

    def __init__(self, folder: Path, memory: int, *, weighted: bool) -> None:
        self._free = memory
        self._weighted = weighted
        self._in_memory: list[Chunk] = []
        self._stored: list[tuple[int, int, numpy.dtype[Any]]] = []  # place, edges, type of ids
        self._file = ScratchFile(folder)
        self.edges = 0

    def append(self, chunk: Chunk, *, narrow: bool = False) -> None:
        """Keep a chunk, whose arrays stay as they are; `narrow` promises numbers from 0 to below `NARROW`."""
        if not len(chunk.source):
            return
        dtype = numpy.dtype(numpy.uint32 if narrow else numpy.int64)
        size = len(chunk.source) * (2 * dtype.itemsize + (8 if self._weighted else 0))
        source, target = chunk.source.astype(dtype, copy=False), chunk.target.astype(dtype, copy=False)
        self.edges += len(source)
        if not self._stored and size <= self._free:
            self._free -= size
            self._in_memory.append(Chunk(source, target, chunk.weight))
            return
        places = [self._file.append(each) for each in (source, target, chunk.weight) if each is not None]
        self._stored.append((places[0], len(source), dtype))

    def __iter__(self) -> Iterator[Chunk]:
        """Yield the chunks, with ids of uint32 or int64."""
        yield from self._in_memory
        for place, edges, dtype in self._stored:
            source, target = (
                self._file.read(place + end * edges * dtype.itemsize, edges, dtype) for end in range(2)
            )
            behind = place + 2 * edges * dtype.itemsize
            weight = self._file.read(behind, edges, numpy.float64) if self._weighted else None
            yield Chunk(source, target, weight)

    def close(self) -> None:
        """Give up memory and disk."""
        self._in_memory.clear()
        self._stored.clear()
        self._file.close()


def ranked(
    spool: Spool, ids: IdSet, folder: Path, memory: int, *, weighted: bool, dtype: Any, threads: int
) -> Iterator[Chunk]:
    """Yield the spooled edges with ranks of type `dtype` for ids, found by several threads.

    The spool is used up; `memory` bounds its successors.
    """
    if ids.consecutive or ids.fits:

        def of(chunk: Chunk) -> Chunk:
            return Chunk(ids.ranks(chunk.source, dtype), ids.ranks(chunk.target, dtype), chunk.weight)

        yield from in_order(of, spool, threads)
        spool.close()
        return
    # A rank r that is found is kept as -1 - r among the ids, which are never negative.
    current = _next(spool, None, ids, folder, memory, weighted)
    for first, table in ids.sparse_blocks():
        current = _next(current, (first, table), ids, folder, memory, weighted)
    for chunk in current:
        yield Chunk(-1 - chunk.source, -1 - chunk.target, chunk.weight)
    current.close()


def _next(
    spool: Spool,
    stretch: tuple[int, NDArray[numpy.int64]] | None,
    ids: IdSet,
    folder: Path,
    memory: int,
    weighted: bool,
) -> Spool:
    following = Spool(folder, memory // 2, weighted=weighted)
    for chunk in spool:
        following.append(
            Chunk(_found(chunk.source, stretch, ids), _found(chunk.target, stretch, ids), chunk.weight)
        )
    spool.close()
    return following


def _found(
    values: NDArray[Any], stretch: tuple[int, NDArray[numpy.int64]] | None, ids: IdSet
) -> NDArray[numpy.int64]:
    values = values.astype(numpy.int64, copy=False)
    ranks = -1 - values
    if stretch is None:
        ids.covered_ranks(values, ranks)
    else:
        ids.sparse_ranks(stretch[1], stretch[0], values, ranks)
    return -1 - ranks


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
    done = 0
    for chunk in chunks:
        source.append(chunk.source.astype(dtype, copy=False))
        target.append(chunk.target.astype(dtype, copy=False))
        if weight is not None and chunk.weight is not None:
            weight.append(chunk.weight)
        if rows is not None:  # else the file is still read, which reports its own progress
            done += len(chunk.source)
            context.progress(done, rows, "edges numbered")
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
