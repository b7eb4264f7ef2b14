"""Graphs whose arcs have weights, from whatever holds them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gravel.conversion.converted import Edges
from gravel.memory import refuse
from gravel.stages.artifacts import EdgeList, Graph
from gravel.vertex_ids import listed

if TYPE_CHECKING:
    from gravel.stages.sizes import Machine

MERGES = ("minimum", "sum", "error")


def kept_weights(weights: Any, kept: Any) -> Any:
    """Return the weights of the rows that a filter keeps; raises ValueError for another number of rows."""
    import numpy

    from gravel.kernels.arrays import on_host

    values = weights if numpy.ma.isMaskedArray(weights) else numpy.asarray(on_host(weights))
    if values.shape[:1] != kept.shape:
        raise ValueError(f"there are {len(values):,} weights and {len(kept):,} rows")
    return values[kept]


def checked_weights(edges: Edges, found: Any) -> Any:
    """Return weights as an array of NumPy, one number for each edge.

    Raises TypeError for weights that are no numbers, and ValueError for another number of weights than edges
    and for one that is negative, NaN or infinite, with the edge.
    """
    import numpy

    from gravel.kernels.arrays import on_host

    if numpy.ma.is_masked(found):
        row = int(numpy.flatnonzero(numpy.ma.getmaskarray(found))[0])
        raise ValueError(f"the weights are null in row {row}; an edge needs its weight: drop such rows")
    values = numpy.asarray(on_host(found))
    if values.dtype.kind not in "iuf" or values.ndim != 1:
        raise TypeError(
            f"weights are of type {values.dtype} and shape {values.shape}; one number for each edge is "
            "expected"
        )
    if len(values) != len(edges.source):
        raise ValueError(f"there are {len(values):,} weights and {len(edges.source):,} edges")
    wrong = numpy.flatnonzero(~((values >= 0) & (values < numpy.inf)))
    if len(wrong):
        ends = numpy.array([int(each[int(wrong[0])]) for each in (edges.source, edges.target)])
        source, target = listed(edges.ids, ends)
        raise ValueError(
            f"the edge ({source!r}, {target!r}) has the weight {values[wrong[0]]}; weights must be finite "
            "and not negative"
        )
    return values.astype(numpy.float32) if values.dtype == numpy.float16 else values


def weighted_edges(data: Any, weights: Any, machine: Machine) -> tuple[Edges, Any]:
    """Return the edges of data that is no table, in its order, and their weights, unchecked."""
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(data, networkx.Graph):
        return _of_networkx(data, weights)
    from gravel.conversion import arrays, scipy

    if scipy.is_sparse(data):
        if weights is not True:
            raise TypeError("the weights of a sparse matrix are its values: give weights=True")
        edges, entries = scipy.from_entries(data), data.tocoo()
        return edges, entries.data
    if arrays.is_pair(data):
        if isinstance(weights, str | int):  # True is an integer.
            raise TypeError("the weights of edges in arrays are an array of one number for each")
        return arrays.from_arrays(data, machine), weights
    raise TypeError(f"a {type(data).__name__} is nothing that has weights")


def _of_networkx(data: Any, attribute: Any) -> tuple[Edges, Any]:
    import numpy

    from gravel.conversion.networkx import is_range, nodes_of
    from gravel.encoded_ids import Integers
    from gravel.kernels.arrays import index_dtype
    from gravel.vertex_ids import Objects

    attribute = "weight" if attribute is True else attribute
    nodes = nodes_of(data)
    vertex = {node: i for i, node in enumerate(nodes)}
    triples = list(data.edges(data=attribute))
    for u, v, weight in triples:
        if weight is None:
            raise ValueError(f"the edge ({u!r}, {v!r}) has no attribute {attribute!r}")
    dtype = index_dtype(len(nodes))
    source = numpy.fromiter((vertex[u] for u, _, _ in triples), dtype, len(triples))
    target = numpy.fromiter((vertex[v] for _, v, _ in triples), dtype, len(triples))
    ids = Integers(len(nodes)) if is_range(nodes) else Objects(nodes)
    # Without edges NumPy would make floats of nothing.
    weights = numpy.array([weight for _, _, weight in triples] or numpy.zeros(0, numpy.int64))
    return Edges(source, target, ids, directed=bool(data.is_directed())), weights


def from_weighted(
    edges: Edges, weights: Any, directed: bool, merge: str, machine: Machine, host_memory: str | int | None
) -> Graph:
    """Build sorted rows with weights, without self-loops; both ways unless directed.

    Raises ValueError for duplicates with `merge` "error", and `NotEnoughMemory`.
    """
    from gravel.rows import called, context_for
    from gravel.stages.symmetrize import symmetrize
    from gravel.stages.symmetrize_parameters import SymmetrizeParameters
    from gravel.stages.weights import weighted_bytes

    if merge not in MERGES:
        raise ValueError(f"duplicates is {merge!r}; it can be {', '.join(MERGES)}")
    source, target = (each.get() if hasattr(each, "get") else each for each in (edges.source, edges.target))
    refuse(
        f"a graph of {edges.ids.count:,} vertices and {len(source):,} edges with weights",
        weighted_bytes(edges.ids.count, len(source)),
        machine,
        host_memory,
        "Use a machine with more memory",
    )
    given = EdgeList(
        source=source,
        target=target,
        weight=weights,
        vertex_count=edges.ids.count,
        undirected=not directed,
    )
    asked = SymmetrizeParameters(direction="as_given", weights=merge)
    made: Graph = called(symmetrize, context_for(machine), asked, input=given)
    return made
