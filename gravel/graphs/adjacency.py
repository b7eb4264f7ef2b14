"""The rows of a graph as its user sees them: neighbours, degrees, edges, and graphs of other libraries.

Vertices are positions in the order of the caller's ids, whatever the order and the layout of the rows.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from gravel.graphs.stage_calls import called
from gravel.kernels.arrays import index_dtype, on_host
from gravel.kernels.csr.tails import tails_of
from gravel.memory import refuse
from gravel.stages.artifacts import CompressedGraph
from gravel.stages.rows.decoding import unpacked_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.conversion.ids import Ids
    from gravel.graphs.rows import PlacedRows

BYTES_PER_ARC = 40
"""Of host memory: both ends and the weight of each arc, the same of those that are kept, and their order."""


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


def arcs_of(rows: PlacedRows, *, edges: bool = False) -> Arcs:
    """Return all arcs in host memory; with `edges`, of an undirected graph one arc of each edge.

    Raises `NotEnoughMemory` where they do not fit.
    """
    from gravel.stages.rows.decoding import decompress

    stored, count = rows.stored, rows.stored.arc_count
    hint = "Use a machine with more memory, or export the graph of a workflow"
    what = f"a list of {count:,} arcs"
    refuse(what, BYTES_PER_ARC * count, rows.machine, rows.host_memory, hint)
    plain: Any = called(decompress, stored) if isinstance(stored, CompressedGraph) else stored
    offsets, target = on_host(plain.row_offsets), on_host(plain.column_indices)
    source, weight = tails_of(offsets, len(target)), on_host(unpacked_weights(plain.weights))
    if rows.inverse is not None:
        source, target = rows.inverse[source], rows.inverse[target]
    kept: Any = source <= target if edges and not rows.directed else None
    if kept is not None:
        source, target = source[kept], target[kept]
        weight = None if weight is None else weight[kept]
    if rows.inverse is not None:
        order = numpy.lexsort((target, source))
        source, target = source[order], target[order]
        weight = None if weight is None else weight[order]
    return Arcs(source, target, weight)


def edge_table(rows: PlacedRows, ids: Ids) -> Any:
    """Return the edges as an Arrow table; see `Graph.edges`."""
    import pyarrow

    source, target, weight = arcs_of(rows, edges=True)
    columns = {"source": ids.take(source), "target": ids.take(target)}
    return pyarrow.table(columns if weight is None else {**columns, "weight": weight})


def networkx_graph(rows: PlacedRows, ids: Ids) -> Any:
    """Return a graph of NetworkX; see `Graph.to_networkx`."""
    networkx = _library("networkx", "to_networkx")
    kind = ("" if rows.stored.deduplicated else "Multi") + ("DiGraph" if rows.directed else "Graph")
    made = getattr(networkx, kind)()
    names = ids.listed(numpy.arange(ids.count))
    made.add_nodes_from(names)
    source, target, weight = arcs_of(rows, edges=True)
    ends = [list(map(names.__getitem__, each.tolist())) for each in (source, target)]
    if weight is None:
        made.add_edges_from(zip(*ends, strict=True))
    else:
        made.add_weighted_edges_from(zip(*ends, weight.tolist(), strict=True))
    return made


def scipy_matrix(rows: PlacedRows) -> Any:
    """Return a sparse array of SciPy; see `Graph.to_scipy`."""
    sparse = _library("scipy.sparse", "to_scipy")
    source, target, weight = arcs_of(rows)
    count = len(rows)
    dtype = numpy.int32 if max(count, len(target)) < 1 << 31 else numpy.int64
    offsets = numpy.zeros(count + 1, dtype)
    numpy.cumsum(numpy.bincount(source, minlength=count), out=offsets[1:])
    values = numpy.ones(len(target)) if weight is None else weight.astype(numpy.float64)
    return sparse.csr_array((values, target.astype(dtype), offsets), shape=(count, count))


def igraph_graph(rows: PlacedRows, ids: Ids) -> Any:
    """Return a graph of igraph; see `Graph.to_igraph`."""
    igraph = _library("igraph", "to_igraph")
    source, target, weight = arcs_of(rows, edges=True)
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
