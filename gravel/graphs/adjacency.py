"""The rows of a graph as its user sees them: neighbours, degrees, edges, and graphs of other libraries.

Vertices are positions in the order of the caller's ids, whatever the order and the layout of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from gravel.graphs.stage_calls import called
from gravel.kernels.arrays import index_dtype, on_host
from gravel.kernels.row_blocks import equal_blocks
from gravel.memory import refuse
from gravel.progress import report
from gravel.stages.artifacts import CompressedGraph
from gravel.stages.rows.decoding import unpacked_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.conversion.ids import Ids
    from gravel.graphs.rows import PlacedRows

BYTES_PER_ARC = 40
"""Of host memory: both ends and the weight of each arc, in parts and then together."""

PART = 1 << 21
"""Arcs that are read at a time: a fraction of a second."""

NODES = 1 << 16
"""Nodes, and arcs, that NetworkX is given at a time."""


class Arcs(NamedTuple):
    """Both ends of each arc, and weights or None, NumPy (arcs,), ascending by source and target."""

    source: NDArray[Any]
    target: NDArray[Any]
    weight: NDArray[Any] | None


def neighbours_of(rows: PlacedRows, vertex: int) -> NDArray[Any]:
    """Return the ends of a vertex's arcs, ascending: one row is read, and decoded if it is encoded."""
    stored = rows.stored
    place = vertex if rows.inverse is None else int(rows.permutation[vertex])
    if isinstance(stored, CompressedGraph):
        row = _decoded(stored, place)
    else:
        begin, end = (int(each) for each in on_host(stored.row_offsets[place : place + 2]))
        row = on_host(stored.column_indices[begin:end])
    return row if rows.inverse is None else numpy.sort(rows.inverse[row])


def degree_of(rows: PlacedRows, vertex: int) -> int:
    """Count the arcs of a vertex."""
    if isinstance(rows.stored, CompressedGraph):
        return len(neighbours_of(rows, vertex))
    place = vertex if rows.inverse is None else int(rows.permutation[vertex])
    begin, end = (int(each) for each in on_host(rows.stored.row_offsets[place : place + 2]))
    return end - begin


def degrees_of(rows: PlacedRows) -> NDArray[numpy.int64]:
    """Count the arcs of every vertex, int64 (vertices,)."""
    stored = rows.stored
    if isinstance(stored, CompressedGraph):
        from gravel.stages.rows.encoded import row_offsets_of, rows_of

        read = rows_of(stored)
        offsets = read.arrays["row_offsets"] if read.layout == "csr" else row_offsets_of(read)
    else:
        offsets = stored.row_offsets
    found: NDArray[numpy.int64] = numpy.diff(on_host(offsets))
    return found if rows.inverse is None else found[rows.permutation]


def parts_of(rows: PlacedRows, *, edges: bool = False, arcs: int = PART) -> Iterator[Arcs]:
    """Yield all arcs in host memory, in parts of rows with about so many `arcs`.

    With `edges`, an undirected graph has one arc of each edge. Between parts Ctrl-C is heard and progress is
    shown. Raises `NotEnoughMemory` where a list of all arcs does not fit.
    """
    from gravel.stages.rows.decoding import decompress

    stored, count = rows.stored, rows.stored.arc_count
    hint = "Use a machine with more memory, or export the graph of a workflow"
    what = f"a list of {count:,} arcs"
    refuse(what, BYTES_PER_ARC * count, rows.machine, rows.host_memory, hint)
    plain: Any = called(decompress, stored) if isinstance(stored, CompressedGraph) else stored
    offsets, columns = on_host(plain.row_offsets), on_host(plain.column_indices)
    weights = on_host(unpacked_weights(plain.weights))
    lengths, inverse = degrees_of(rows), rows.inverse
    ends = numpy.concatenate(([0], lengths.cumsum()))  # of rows in the order of ids
    for first, last in equal_blocks(ends, arcs, len(rows)):
        vertices = numpy.arange(first, last, dtype=index_dtype(len(rows)))
        source = numpy.repeat(vertices, lengths[first:last])
        at: Any = slice(ends[first], ends[last])
        if inverse is not None:
            begins = offsets[rows.permutation[first:last]] - ends[first:last]
            at = numpy.repeat(begins, lengths[first:last]) + numpy.arange(ends[first], ends[last])
        target, weight = columns[at], None if weights is None else weights[at]
        if inverse is not None:
            base = (source - source.dtype.type(first)).astype(numpy.int64) * len(rows)
            key = base + inverse[target]
            if weight is not None:
                weight = weight[key.argsort()]
            key.sort()  # within each row
            target = key - base
        if edges and not rows.directed:
            kept = source <= target
            source, target, weight = source[kept], target[kept], None if weight is None else weight[kept]
        yield Arcs(source, target, weight)
        report(int(ends[last]), count, "arcs")


def edges_of(rows: PlacedRows) -> Arcs:
    """Return all edges in host memory, one arc of each; raises `NotEnoughMemory` where they do not fit."""
    none = numpy.zeros(0, numpy.uint32)
    empty = Arcs(none, none, None if rows.stored.weights is None else none)
    columns = zip(*([*parts_of(rows, edges=True)] or [empty]), strict=True)
    whole: Any = (None if each[0] is None else numpy.concatenate(each) for each in columns)
    return Arcs(*whole)


def edge_table(rows: PlacedRows, ids: Ids) -> Any:
    """Return the edges as an Arrow table; see `Graph.edges`."""
    import pyarrow

    source, target, weight = edges_of(rows)
    columns = {"source": ids.take(source), "target": ids.take(target)}
    return pyarrow.table(columns if weight is None else {**columns, "weight": weight})


def networkx_graph(rows: PlacedRows, ids: Ids) -> Any:
    """Return a graph of NetworkX; see `Graph.to_networkx`."""
    networkx = _library("networkx", "to_networkx")
    kind = ("" if rows.stored.deduplicated else "Multi") + ("DiGraph" if rows.directed else "Graph")
    made = getattr(networkx, kind)()
    names: list[Any] = []
    for first in range(0, ids.count, NODES):
        names += ids.listed(numpy.arange(first, min(first + NODES, ids.count)))
        made.add_nodes_from(names[first:])
    for source, target, weight in parts_of(rows, edges=True, arcs=NODES):
        ends = [map(names.__getitem__, each.tolist()) for each in (source, target)]
        if weight is None:
            made.add_edges_from(zip(*ends, strict=True))
        else:
            made.add_weighted_edges_from(zip(*ends, weight.tolist(), strict=True))
    return made


def scipy_matrix(rows: PlacedRows) -> Any:
    """Return a sparse array of SciPy; see `Graph.to_scipy`."""
    sparse = _library("scipy.sparse", "to_scipy")
    count, arcs = len(rows), rows.stored.arc_count
    dtype = numpy.int32 if max(count, arcs) < 1 << 31 else numpy.int64
    offsets, columns = numpy.zeros(count + 1, dtype), numpy.empty(arcs, dtype)
    numpy.cumsum(degrees_of(rows), out=offsets[1:])
    values, filled = numpy.empty(arcs), 0
    for _, target, weight in parts_of(rows):
        part = slice(filled, filled + len(target))
        columns[part], values[part], filled = target, 1 if weight is None else weight, part.stop
    return sparse.csr_array((values, columns, offsets), shape=(count, count))


def igraph_graph(rows: PlacedRows, ids: Ids) -> Any:
    """Return a graph of igraph; see `Graph.to_igraph`."""
    igraph = _library("igraph", "to_igraph")
    source, target, weight = edges_of(rows)
    ends = numpy.stack([source, target], axis=1).astype(numpy.int64)
    made = igraph.Graph(n=ids.count, edges=ends, directed=rows.directed)
    made.vs["name"] = ids.listed(numpy.arange(ids.count))
    if weight is not None:
        made.es["weight"] = weight.tolist()
    return made


def _decoded(stored: CompressedGraph, row: int) -> NDArray[Any]:
    """Decode one row of a compressed graph."""
    from gravel.kernels.layouts import EncodedRows, decode
    from gravel.kernels.layouts.layout import pad
    from gravel.kernels.layouts.readers import count_neighbours

    count, dtype = stored.vertex_count, numpy.dtype(index_dtype(stored.vertex_count))
    begin, end = (int(each) for each in on_host(stored.byte_offsets[row : row + 2]))
    stream = numpy.ascontiguousarray(on_host(stored.stream[begin:end]))
    if stored.codec == "csr":
        return stream.view(dtype)
    arrays = {"byte_offsets": numpy.array([0, end - begin]), "stream": pad(stream)}
    alone = EncodedRows(stored.codec, 1, 0, dtype, arrays, row)
    found: NDArray[Any] = decode(alone, arc_count=int(count_neighbours(alone)[-1]), bound=count)[1]
    return found


def _library(name: str, method: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        package = name.partition(".")[0]
        raise ImportError(f"{method} needs {package}: pip install {package}") from None
