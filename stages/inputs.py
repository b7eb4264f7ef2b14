"""Graphs that a notebook already holds, as artifacts for stages: no file, no cache.

from gravel.stages.context import PlainContext
from gravel.stages.inputs import edge_list
from gravel.stages.symmetrize import STAGE

graph = STAGE.run(PlainContext(), STAGE.parameters(), input=edge_list(matrix))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gravel.stages.artifacts import EdgeList, Graph

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["edge_list", "graph"]


def edge_list(given: Any, *, vertex_count: int | None = None, undirected: bool = False) -> EdgeList:
    """Return the edges of a sparse matrix, or of a pair of arrays `(source, target)`.

    Parameters
    ----------
    given : see `gravel.kernels.inputs.edges`; arrays in host memory are not copied, those on a GPU are
        brought here.
    vertex_count : of the whole graph; by default the matrix's size, or one more than the largest vertex.
    undirected : each edge stands for both directions.

    Raises ValueError for what is no graph, or has a vertex that is not below `vertex_count`.

    """
    from gravel.kernels.arrays import on_host
    from gravel.kernels.inputs import edges

    source, target = (on_host(each) for each in edges(given))
    largest = max((int(each.max()) for each in (source, target) if len(each)), default=-1)
    if vertex_count is None:
        vertex_count = int(given.shape[0]) if hasattr(given, "tocoo") else largest + 1
    if largest >= vertex_count:
        raise ValueError(f"{largest} is no vertex of {vertex_count:,}, which are counted from 0")
    source, target = (_indices(each, vertex_count) for each in (source, target))
    return EdgeList(source=source, target=target, vertex_count=vertex_count, undirected=undirected)


def graph(given: Any, *, symmetric: bool | None = None) -> Graph:
    """Return a graph for every stage that takes one, of a sparse matrix or `(row_offsets, column_indices)`.

    Parameters
    ----------
    given : see `gravel.kernels.inputs.csr`; rows in host memory that are sorted already are not copied.
    symmetric : whether every arc has its reverse; None to find out, which sorts all arcs once.

    Raises ValueError for what is no graph.

    """
    import numpy

    from gravel.kernels.arrays import on_host
    from gravel.kernels.inputs import csr, is_symmetric

    rows = csr(given)
    if symmetric is None:
        symmetric = is_symmetric(rows)
    offsets, columns = on_host(rows.row_offsets), on_host(rows.column_indices)
    vertex_count = len(offsets) - 1
    columns = _indices(columns, vertex_count)
    owner = numpy.repeat(numpy.arange(vertex_count, dtype=columns.dtype), numpy.diff(offsets))
    return Graph(
        row_offsets=offsets,
        column_indices=columns,
        vertex_count=vertex_count,
        arc_count=len(columns),
        symmetric=symmetric,
        deduplicated=True,
        loop_count=int((owner == columns).sum()),
    )


def _indices(array: NDArray[Any], vertex_count: int) -> NDArray[Any]:
    from gravel.kernels.arrays import index_dtype

    return array.astype(index_dtype(vertex_count), copy=False)
