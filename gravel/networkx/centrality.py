"""Centralities and core numbers, with the values of NetworkX."""

from __future__ import annotations

from typing import Any

import networkx
import numpy
from networkx.utils import create_py_random_state
from numpy.typing import NDArray

from gravel.conversion.networkx import Rows
from gravel.kernels.betweenness.sums import betweenness, scale
from gravel.kernels.cores import core_numbers
from gravel.kernels.csr import build
from gravel.kernels.distances import weighted
from gravel.kernels.distances.aggregates import Aggregates
from gravel.kernels.distances.closeness import closeness
from gravel.kernels.distances.many import aggregate
from gravel.kernels.distances.reciprocals import reciprocal_sums
from gravel.networkx.device import many_on_gpu, rows_on_gpu
from gravel.networkx.graph import GravelGraph
from gravel.networkx.lookup import nodes_in, vertex_for_paths

LOOPS = (
    "Input graph has self loops which is not permitted; "
    "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
)
"""The message of NetworkX for graphs with self-loops."""


def betweenness_centrality(
    G: GravelGraph,
    k: int | None = None,
    normalized: bool = True,
    weight: Any = None,
    endpoints: bool = False,
    seed: Any = None,
) -> dict[Any, float]:
    """Return for each node the share of shortest paths through it, from all nodes or from `k` drawn ones.

    By weights they are found on the CPU.
    """
    n, endpoints = len(G), bool(endpoints)
    sources = None if k is None or k == n else _sample(G, k, seed)
    with G.lock:
        weights = _lengths(G, weight)
        total = betweenness(G.forward, G.backward, sources, endpoints=endpoints, weights=weights)
    # Without endpoints a node is no source of the paths through it, so that others alone count as samples.
    ends = n if endpoints else n - 1
    if ends >= 2:
        options = {"normalized": normalized, "directed": G.directed, "endpoints": endpoints}
        factor = numpy.full(n, scale(n, **options, sampled=1.0 if sources is None else len(sources) / ends))
        if sources is not None and not endpoints:
            others = len(sources) - 1
            factor[sources] = scale(n, **options, sampled=others / ends) if others else numpy.nan
        total *= factor
    return dict(zip(G, total.tolist(), strict=True))


def edge_betweenness_centrality(
    G: GravelGraph,
    k: int | None = None,
    normalized: bool = True,
    weight: Any = None,
    seed: Any = None,
) -> dict[tuple[Any, Any], float]:
    """Return for each edge the share of shortest paths through it, from all nodes or from `k` drawn ones."""
    n = len(G)
    tails, heads = _arcs(G.forward)
    if not G.directed:
        once = tails <= heads  # NetworkX lists an edge with the first of its nodes
        tails, heads = tails[once], heads[once]
    sources = None if k is None else _sample(G, k, seed)
    with G.lock:
        weights = _lengths(G, weight)
        total = betweenness(G.forward, G.backward, sources, of_arcs=True, weights=weights)
    if not G.directed:
        first, second = _arcs(G.forward)
        listed = tails * n + heads
        order = numpy.argsort(listed)
        arcs = numpy.minimum(first, second) * n + numpy.maximum(first, second)
        edge_of = order[numpy.searchsorted(listed, arcs, sorter=order)]
        total = numpy.bincount(edge_of, total, len(listed)).astype(numpy.float64, copy=False)
    if n >= 2:
        sampled = 1.0 if k is None else k / n
        total *= scale(n, normalized=normalized, directed=G.directed, of_arcs=True, sampled=sampled)
    return dict(zip(zip(G.take(tails), G.take(heads), strict=True), total.tolist(), strict=True))


def _sample(G: GravelGraph, k: int, seed: Any) -> NDArray[numpy.int64]:
    """Draw nodes as NetworkX does, with the same errors."""
    return numpy.array(create_py_random_state(seed).sample(range(len(G)), k), numpy.int64)


def _arcs(rows: Rows) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
    """Return the row and the column of each arc."""
    row = numpy.repeat(numpy.arange(len(rows.row_offsets) - 1), numpy.diff(rows.row_offsets))
    return row, rows.column_indices.astype(numpy.int64)


def closeness_centrality(
    G: GravelGraph, u: Any = None, distance: Any = None, wf_improved: bool = True, *, sp: None = None
) -> Any:
    """Return the reciprocal of the mean distance to a node, for one or for all of them.

    By weights it is found on the CPU.
    """
    if u is None:
        vertices = numpy.arange(len(G))
    else:
        missing = f"Source {u} is not in G" if distance is None else f"Node {u} not found in graph"
        vertices = numpy.array([vertex_for_paths(G, u, missing)])
    sums = _sums(G, vertices) if distance is None else _weighted_sums(G, distance, vertices)
    values = closeness(sums, len(G), wf_improved=wf_improved).tolist()
    return values[0] if u is not None else dict(zip(G, values, strict=True))


def harmonic_centrality(
    G: GravelGraph, nbunch: Any = None, distance: None = None, sources: Any = None
) -> dict[Any, float]:
    """Return for each node the sum of reciprocal distances from all nodes, or from those in `sources`."""
    wanted, starts = _some_nodes(G, nbunch), _some_nodes(G, sources)
    if sources is None:
        values = _harmonic(G, _vertices(G, wanted))
    else:
        by_source = len(wanted) < len(starts)
        counted = numpy.zeros(len(G), numpy.bool_)
        counted[_vertices(G, starts if by_source else wanted)] = True
        with G.lock:
            total = reciprocal_sums(
                G.backward if by_source else G.forward,
                _vertices(G, wanted if by_source else starts),
                counted,
                by_source=by_source,
            )
        values = total[_vertices(G, wanted)]
    # A node that none reaches has the whole number 0 there.
    return {node: value or 0 for node, value in zip(wanted, values.tolist(), strict=True)}


def _harmonic(G: GravelGraph, vertices: NDArray[numpy.int64]) -> NDArray[numpy.float64]:
    """Return sums of reciprocals by level, which round otherwise than sums of single terms."""
    found: NDArray[numpy.float64] = _sums(G, vertices).reciprocal
    return found


def _sums(G: GravelGraph, vertices: NDArray[numpy.int64]) -> Aggregates:
    """Search against the arcs from vertices, on all cores or on the GPU, one thread at a time."""
    with G.lock:
        rows = rows_on_gpu(G, backward=True) if many_on_gpu(G, len(vertices)) else G.backward
        return aggregate(*rows, vertices, symmetric=not G.directed)


def _weighted_sums(G: GravelGraph, weight: Any, vertices: NDArray[numpy.int64]) -> Aggregates:
    """Search by weights against the arcs, on all cores, one thread at a time."""
    with G.lock:
        return weighted.aggregate(*G.backward, G.weights[weight].backward, vertices)


def _lengths(G: GravelGraph, weight: Any) -> NDArray[Any] | None:
    """Return the weights of the forward rows; None for none."""
    return None if weight is None else G.weights[weight].forward


def _some_nodes(G: GravelGraph, nbunch: Any) -> set[Any]:
    """Return the nodes of an argument; the order of a set is that of NetworkX's sums."""
    if nbunch is None:
        return set(G)
    if nbunch in G:
        return {nbunch}
    return {node for node in nodes_in(nbunch) if node in G}


def _vertices(G: GravelGraph, nodes: set[Any]) -> NDArray[numpy.int64]:
    return numpy.fromiter(map(G.vertices.__getitem__, nodes), numpy.int64, len(nodes))


def core_number(G: GravelGraph) -> dict[Any, int]:
    """Return the core number of each node; of a directed graph in-arcs and out-arcs count."""
    offsets, columns = G.forward
    sources = numpy.repeat(numpy.arange(len(G), dtype=columns.dtype), numpy.diff(offsets))
    if bool((sources == columns).any()):
        raise networkx.NetworkXNotImplemented(LOOPS)
    if G.directed:
        offsets, columns, _ = build(sources, columns, len(G), keep_duplicates=True)
    return dict(zip(G, core_numbers(offsets, columns).tolist(), strict=True))
