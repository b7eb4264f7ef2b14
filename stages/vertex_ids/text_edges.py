"""Edges between texts become an edge list by index, and a table of the texts, in bounded memory of the host.

As with numbers, an index is the rank of the id, ascending. Of `memory`, ids take half at most, edges that
wait an eighth, and pieces of the file with what is made of them a quarter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import index_dtype
from gravel.stages.artifacts import EdgeList, VertexIds
from gravel.stages.readers import Chunk, TextChunk
from gravel.stages.vertex_ids.edges import written
from gravel.stages.vertex_ids.ranks import side_by_side
from gravel.stages.vertex_ids.spool import NARROW, Spool
from gravel.stages.vertex_ids.text_runs import TextRuns

if TYPE_CHECKING:
    from gravel.stages.context import Context
    from gravel.stages.readers import Header, Reading


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
        edges = side_by_side(of, pairs, context.machine.threads)
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
