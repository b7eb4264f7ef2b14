"""Edges by file id become an edge list by index, and a table of ids, in bounded memory of the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy

from gravel.kernels.index import index_dtype
from gravel.stages.artifacts import EdgeList, VertexIds
from gravel.stages.numbering.ids import IdSet
from gravel.stages.numbering.ranks import ranked
from gravel.stages.numbering.spool import NARROW, Spool

if TYPE_CHECKING:
    from gravel.stages.context import Context
    from gravel.stages.readers import Chunk, Header


def numbered(
    context: Context, header: Header, chunks: Iterator[Chunk], memory: int
) -> tuple[EdgeList, VertexIds]:
    """Number the edges that a reader yields, within `memory` bytes of the host."""
    if header.vertex_count is not None:
        ids = VertexIds(first=header.first_id, vertex_count=header.vertex_count)
        return written(context, header, chunks, header.vertex_count, header.first_id), ids
    occurring = IdSet(context.scratch, memory // 2)
    spool = Spool(context.scratch, memory // 8, weighted=header.weighted)
    try:
        for chunk in chunks:
            high = max(occurring.add(chunk.source), occurring.add(chunk.target))
            spool.append(chunk, narrow=high < NARROW)
        return from_spool(context, header, spool, occurring, memory)
    finally:
        occurring.close()
        spool.close()


def from_spool(
    context: Context, header: Header, spool: Spool, occurring: IdSet, memory: int
) -> tuple[EdgeList, VertexIds]:
    """Number spooled edges, whose ids were all added to `occurring`; the caller closes both."""
    occurring.finish()
    edges = ranked(spool, occurring, context.scratch, memory // 8, weighted=header.weighted)
    listed = written(context, header, edges, occurring.count, 0)
    if occurring.consecutive:
        return listed, VertexIds(first=occurring.first, vertex_count=occurring.count)
    sink = context.sink(numpy.int64)
    for block in occurring.blocks(1 << 20):
        sink.append(block)
    return listed, VertexIds(ids=sink.close(), vertex_count=occurring.count)


def written(context: Context, header: Header, chunks: Iterator[Chunk], vertices: int, first: int) -> EdgeList:
    """Write edges by file id, those of a header that states its vertices, or by rank."""
    dtype = index_dtype(vertices)
    source, target = context.sink(dtype), context.sink(dtype)
    weight = context.sink(numpy.float64) if header.weighted else None
    for chunk in chunks:
        source.append((chunk.source - first).astype(dtype) if first else chunk.source.astype(dtype))
        target.append((chunk.target - first).astype(dtype) if first else chunk.target.astype(dtype))
        if weight is not None and chunk.weight is not None:
            weight.append(chunk.weight)
    return EdgeList(
        source=source.close(),
        target=target.close(),
        weight=weight.close() if weight is not None else None,
        vertex_count=vertices,
        undirected=header.undirected,
    )
