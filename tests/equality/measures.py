"""What is compared: each measure of a graph of gravel beside the same of a peer."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import networkx
import numpy
from scipy.sparse import csgraph

import gravel
from tests.equality.reference import Reference
from tests.equality.table import Table

HAS_IGRAPH = find_spec("igraph") is not None
"""The command needs igraph and networkit; tests go on without it."""

SMALL = 5_000
"""Vertices below which all pairs are compared."""

BOUNDED = 30_000
"""Vertices below which the eccentricities of all vertices are compared, which take seconds even on meshes."""

TINY = 300
"""Vertices up to which NetworkX computes what igraph and SciPy do, too."""

SAMPLED = 32
BLOCK = 32
"""Sources whose distances are in memory at once."""

HOPS = 3

SUMS = 1e-12
"""Relative tolerance of sums of floats, which a peer adds up in another order."""

ROUNDING = 2.0**-53
"""The same for each term of a sum that a peer adds one by one: of reciprocals, as many as vertices."""

BETWEENNESS = 1e-9
"""The same where terms are quotients of counts of paths, which are rounded themselves beyond 2^53."""


class Comparison:
    """A graph of gravel and its reference, with what both have in common."""

    def __init__(self, table: Table, name: str, graph: gravel.Graph, reference: Reference) -> None:
        self.table, self.name, self.graph, self.reference = table, name, graph, reference
        ids = graph.vertices.to_numpy()
        self.place = numpy.searchsorted(reference.ids, ids)
        assert (reference.ids[numpy.minimum(self.place, reference.count - 1)] == ids).all(), name
        left = numpy.setdiff1d(numpy.arange(reference.count), self.place)
        assert not numpy.isin(left, reference.tails).any(), f"{name} lacks vertices that have edges"
        self.ids = ids
        self.whole = len(ids) < SMALL
        drawn = numpy.random.default_rng(5).permutation(len(ids))[: None if self.whole else SAMPLED]
        self.sources = numpy.sort(drawn)

    def compare(self, measure: str, peer: str, found: Any, expected: Any, tolerance: float = 0.0) -> None:
        self.table.compare(self.name, measure, peer, found, expected, tolerance)

    def directions(self) -> tuple[str, ...]:
        return ("out", "in", "both") if self.graph.directed else ("out",)

    def blocks(self) -> Iterator[numpy.ndarray]:
        for first in range(0, len(self.sources), BLOCK):
            yield self.sources[first : first + BLOCK]


def hops(reference: Reference, sources: numpy.ndarray) -> Iterator[tuple[str, numpy.ndarray]]:
    """Yield peers and distances (sources, vertices), infinite where unreached."""
    if reference.count < SMALL:
        yield "SciPy", csgraph.dijkstra(reference.matrix, unweighted=True, indices=sources)
    if HAS_IGRAPH and (reference.count >= SMALL or reference.count <= TINY):
        rows = (numpy.array(reference.igraph.distances([each])[0]) for each in sources.tolist())
        yield "igraph", numpy.stack(list(rows))


def compare_by_arcs(at: Comparison) -> None:
    """Compare distances, components and pairs, each arc counted as one."""
    compare_distances(at)
    compare_components(at)
    compare_pairs(at, "arcs")


def compare_by_weights(at: Comparison, kind: str) -> None:
    """Compare weighted distances and pairs."""
    compare_paths(at, kind)
    compare_pairs(at, kind)


def compare_distances(at: Comparison) -> None:
    """Compare distances by arcs: `distances`, and `bfs` one by one on small graphs."""
    for direction in at.directions():
        turned = at.reference.turned(direction)
        for block in at.blocks():
            ids = at.ids[block].tolist()
            found = at.graph.distances(ids, direction=direction).array
            for peer, expected in hops(turned, at.place[block]):
                at.compare(f"distances, {direction}", peer, found, expected[:, at.place])
            if len(at.ids) <= TINY:
                predecessors = (at.graph.bfs(each, direction=direction).predecessor.array for each in ids)
                at.compare(
                    f"bfs tree, {direction}", "SciPy", *_tree(turned, at, block, numpy.stack([*predecessors]))
                )


def _tree(turned: Reference, at: Comparison, block: numpy.ndarray, predecessors: numpy.ndarray) -> Any:
    """Return the distances that predecessors give, NaN where one has no arc to its vertex, and SciPy's."""
    distance = csgraph.dijkstra(turned.matrix, unweighted=True, indices=at.place[block])[:, at.place]
    is_arc = numpy.zeros((turned.count, turned.count), bool)
    is_arc[turned.tails, turned.heads] = True
    before = predecessors.astype(numpy.int64)
    vertices = numpy.arange(len(at.ids))
    has_one = (before >= 0) & (before < len(vertices)) & (before != vertices)
    before = numpy.where(has_one, before, 0)
    by_arc = numpy.take_along_axis(distance, before, 1) + numpy.where(
        is_arc[at.place[before], at.place[None, :]], 1, numpy.nan
    )
    alone = numpy.where(vertices == block[:, None], 0, numpy.inf)
    return numpy.where(has_one, by_arc, alone), distance


def compare_paths(at: Comparison, kind: str) -> None:
    """Compare weighted distances by both strategies, each way."""
    for direction in at.directions():
        turned = at.reference.turned(direction)
        for block in at.blocks():
            expected = csgraph.dijkstra(turned.matrix, indices=at.place[block])[:, at.place]
            for strategy in ("delta_stepping", "dijkstra"):
                found = [
                    at.graph.shortest_paths(
                        each, "distance", strategy=strategy, direction=direction
                    ).distance.array.copy()
                    for each in at.ids[block].tolist()
                ]
                at.compare(f"{strategy}, {kind}, {direction}", "SciPy", numpy.stack(found), expected)


def compare_pairs(at: Comparison, kind: str) -> None:
    """Compare lengths between pairs, and the lengths of the paths' own arcs."""
    by = "arcs" if kind == "arcs" else "weights"
    random = numpy.random.default_rng(9)
    sources = numpy.repeat(at.sources[:8], 16)
    targets = random.integers(0, len(at.ids), len(sources))
    if not len(sources):
        return
    for direction in at.directions():
        turned = at.reference.turned(direction)
        starts, row = numpy.unique(sources, return_inverse=True)
        lengths = csgraph.dijkstra(turned.matrix, unweighted=by == "arcs", indices=at.place[starts])
        expected = lengths[row, at.place[targets]]
        found = at.graph.paths(at.ids[sources].tolist(), at.ids[targets].tolist(), by=by, direction=direction)
        at.compare(f"pairs by {kind}, {direction}", "SciPy", found.distance, expected, SUMS)
        walked = [
            length_of(turned, *ends, path, by)
            for *ends, path in zip(at.place[sources], at.place[targets], found, strict=True)
        ]
        at.compare(f"paths by {kind}, {direction}", "SciPy", walked, expected, SUMS)


def length_of(turned: Reference, source: int, target: int, path: list[Any] | None, by: str) -> float:
    """Return the length of a path's arcs, NaN where it is no path between these, and infinity for none."""
    if path is None:
        return numpy.inf
    places = numpy.searchsorted(turned.ids, path)
    if (places[0], places[-1]) != (source, target):
        return numpy.nan
    total, matrix = 0.0, turned.matrix
    for tail, head in zip(places[:-1].tolist(), places[1:].tolist(), strict=True):
        row = slice(matrix.indptr[tail], matrix.indptr[tail + 1])
        arc = numpy.flatnonzero(matrix.indices[row] == head)
        if not len(arc):
            return numpy.nan
        total += 1.0 if by == "arcs" else float(matrix.data[row][arc[0]])
    return total


def compare_components(at: Comparison) -> None:
    """Compare weak and strong components by the first vertex of each."""
    for connection in ("weak", "strong"):
        _, labels = csgraph.connected_components(at.reference.matrix, connection=connection)
        found = {"auto": at.graph.components(connection=connection)}
        if connection == "strong":
            found["forward-backward"] = at.graph.components(connection="strong", strategy="forward_backward")
        expected = firsts(labels[at.place])
        for strategy, components in found.items():
            name = f"{connection} components" + ("" if strategy == "auto" else f", {strategy}")
            at.compare(name, "SciPy", firsts(components.component.array), expected)
    if at.reference.directed and HAS_IGRAPH:
        membership = numpy.array(at.reference.igraph.connected_components("strong").membership)
        at.compare(
            "strong components", "igraph", firsts(found["auto"].component.array), firsts(membership[at.place])
        )


def firsts(labels: Any) -> numpy.ndarray:
    """Name each component by its first vertex, whatever a library calls it."""
    _, first, member = numpy.unique(labels, return_index=True, return_inverse=True)
    return first[member]


def compare_measures(at: Comparison) -> None:
    """Compare what is defined for undirected graphs."""
    if HAS_IGRAPH:
        compare_with_igraph(at)
    if len(at.ids) <= TINY:
        compare_with_networkx(at)


def compare_values(at: Comparison) -> None:
    """Compare what distances from each of some vertices add up to, in a directed graph also to each."""
    if not HAS_IGRAPH:
        return
    graph, peer = at.graph, at.reference.igraph
    some, ids = at.place[at.sources].tolist(), at.ids[at.sources].tolist()
    one_by_one = max(SUMS, ROUNDING * len(at.ids))
    for way in ("out", "in") if graph.directed else ("out",):
        close = numpy.nan_to_num(peer.closeness(some, mode=way, normalized=True))
        harmonic = peer.harmonic_centrality(some, mode=way, normalized=False)
        sizes = peer.neighborhood_size(some, order=HOPS, mode=way)
        for name, found, expected, tolerance in (
            ("closeness", graph.closeness(ids, wf_improved=False, direction=way), close, SUMS),
            ("harmonic", graph.harmonic(ids, direction=way), harmonic, one_by_one),
            (f"{HOPS} hops", graph.neighbourhood(HOPS, ids, direction=way), sizes, 0.0),
            ("eccentricity", graph.eccentricity(ids, direction=way), peer.eccentricity(some, mode=way), 0.0),
        ):
            at.compare(f"{name}, {way}", "igraph", found.values, expected, tolerance)
    if graph.directed and at.whole:
        found = graph.betweenness(normalized=False).values
        expected = numpy.array(peer.betweenness())[at.place]
        at.compare("betweenness, out", "igraph", found, expected, BETWEENNESS)


def compare_with_igraph(at: Comparison) -> None:
    """Compare values of drawn or all vertices, sums over drawn or all sources, and extremes."""
    compare_values(at)
    graph, peer = at.graph, at.reference.igraph
    eccentricity = peer.eccentricity(at.place[at.sources].tolist())
    if len(at.ids) < BOUNDED:
        bounded = graph.eccentricity().values
        at.compare("eccentricity, by bounds", "igraph", bounded[at.sources], eccentricity)
    if at.whole:
        at.compare("diameter", "igraph", graph.diameter(), peer.diameter())
        at.compare("radius", "igraph", graph.radius(), min(eccentricity))
        if len(at.reference.tails):
            mean = peer.average_path_length(unconn=True)
            at.compare("average path length", "igraph", float(graph.average_path_length()), mean, SUMS)
    else:
        at.compare("diameter", "networkit", graph.diameter(), diameter(at.reference))
    compare_betweenness(at)


def diameter(reference: Reference) -> int:
    """Return the largest distance of all components by networkit, whose own takes connected graphs alone."""
    import networkit

    ends = [each.astype(numpy.uint64) for each in reference.ends]
    whole = networkit.GraphFromCoo(tuple(ends), n=reference.count, weighted=False, directed=False)
    components = networkit.components.ConnectedComponents(whole).run()
    longest = 0
    for members in sorted(components.getComponents(), key=len, reverse=True):
        if len(members) - 1 <= longest:
            break
        part = networkit.graphtools.subgraphFromNodes(whole, members, compact=True)
        exact = networkit.distance.Diameter(part, networkit.distance.DiameterAlgo.EXACT).run()
        longest = max(longest, exact.getDiameter()[0])
    return longest


def compare_betweenness(at: Comparison) -> None:
    """Compare betweenness of vertices and edges; on large graphs as sums over drawn sources."""
    from gravel.graphs.measured_rows import plain_rows
    from gravel.graphs.measures import drawn

    k = None if at.whole else SAMPLED
    rows, permutation, _ = plain_rows(at.graph._rows, "betweenness")
    starts, candidates = drawn(rows[0], permutation, k, 0)
    assert permutation is None
    sources = at.place[starts].tolist()
    if not sources:
        return
    share = len(sources) / candidates
    peer = at.reference.igraph
    found = at.graph.betweenness(k, normalized=False).values * share
    at.compare(
        "betweenness", "igraph", found, numpy.array(peer.betweenness(sources=sources))[at.place], BETWEENNESS
    )
    found = at.graph.edge_betweenness(k, normalized=False).to_numpy()
    ends = numpy.searchsorted(at.reference.ids, numpy.stack([found["source"], found["target"]]))
    order = numpy.lexsort((ends.max(0), ends.min(0)))
    expected = numpy.array(peer.edge_betweenness(sources=sources))
    at.compare("edge betweenness", "igraph", found["edge_betweenness"][order] * share, expected, BETWEENNESS)


def compare_with_networkx(at: Comparison) -> None:
    """Compare what NetworkX scales or defines otherwise than igraph."""
    graph, peer = at.graph, at.reference.networkx
    for name, found, expected in (
        ("closeness", graph.closeness(), networkx.closeness_centrality(peer)),
        ("harmonic", graph.harmonic(), networkx.harmonic_centrality(peer)),
        ("betweenness", graph.betweenness(), networkx.betweenness_centrality(peer)),
        (
            "betweenness with ends",
            graph.betweenness(endpoints=True),
            networkx.betweenness_centrality(peer, endpoints=True),
        ),
    ):
        values = [expected[each] for each in at.place.tolist()]
        at.compare(name, "NetworkX", found.values, values, BETWEENNESS if "betw" in name else SUMS)
