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


def weighted_edges(
    data: Any, weights: Any, sources: str | None, targets: str | None, machine: Machine
) -> tuple[Edges, Any]:
    """Return the edges of data in its order, and a weight for each.

    Raises as `gravel.graph` does, TypeError for weights that are no numbers, and ValueError for another
    number of weights than edges and for one that is negative, NaN or infinite, with the edge.
    """
    import numpy

    edges, found = _taken(data, weights, sources, targets, machine)
    if numpy.ma.is_masked(found):
        row = int(numpy.flatnonzero(numpy.ma.getmaskarray(found))[0])
        raise ValueError(f"the weights are null in row {row}; an edge needs its weight: drop such rows")
    values = numpy.asarray(found.get() if hasattr(found, "get") else found)
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
    return edges, values


def _taken(
    data: Any, weights: Any, sources: str | None, targets: str | None, machine: Machine
) -> tuple[Edges, Any]:
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(data, networkx.Graph):
        return _of_networkx(data, weights)
    from gravel.conversion import arrays, arrow, scipy

    if scipy.is_sparse(data):
        if weights is not True:
            raise TypeError("the weights of a sparse matrix are its values: give weights=True")
        entries = data.tocoo()
        return scipy.from_entries(entries), entries.data
    if arrow.is_table(data):
        return arrow.from_weighted_table(data, sources, targets, weights, machine)
    if arrays.is_pair(data):
        if isinstance(weights, str | bool):
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
