"""Other libraries' measures, each computed as its documentation suggests for speed, on one graph.

A library is a function of rows that returns a call for each of `MEASURES` it has. Calls take sources, for
`pairs` targets too, and those of measures of the whole graph nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

MEASURES = {
    "distances": "distances from each source to every vertex",
    "closeness": "closeness of each source",
    "harmonic": "harmonic centrality of each source",
    "eccentricity": "eccentricity of each source",
    "diameter": "largest distance of all, exact",
    "betweenness": "betweenness of all vertices, summed over the sources",
    "edges": "betweenness of all edges, summed over the sources",
    "weighted": "lengths of shortest paths from each source, weights 1 to 255",
    "pairs": "distance between two vertices",
    "strong": "strongly connected components",
}


class Rows(NamedTuple):
    """A graph in CSR; `weights` are uint32 (arcs,)."""

    row_offsets: NDArray[numpy.int64]
    column_indices: NDArray[Any]
    weights: NDArray[Any]
    directed: bool

    @property
    def vertices(self) -> int:
        return len(self.row_offsets) - 1

    @property
    def tails(self) -> NDArray[numpy.uint64]:
        return numpy.repeat(numpy.arange(self.vertices, dtype=numpy.uint64), numpy.diff(self.row_offsets))

    def ends(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return tails, heads and weights of the edges, of undirected ones once."""
        tails, heads = self.tails, self.column_indices.astype(numpy.uint64)
        kept = slice(None) if self.directed else tails < heads
        return tails[kept], heads[kept], self.weights[kept]


Works = dict[str, Callable[..., Any]]
"""A call for each measure."""


def scipy(rows: Rows) -> Works:
    """SciPy: Dijkstra's algorithm without weights is the one search that gives distances."""
    from scipy.sparse import csgraph, csr_array

    shape = (rows.vertices, rows.vertices)
    # 64-bit floats and 32-bit indices are what csgraph works on; anything else is converted at every call.
    indices = rows.column_indices.astype(numpy.int32), rows.row_offsets.astype(numpy.int32)
    plain = csr_array((numpy.ones(len(indices[0])), *indices), shape)
    weighted = csr_array((rows.weights.astype(numpy.float64), *indices), shape)

    def hops(sources: list[int]) -> Any:
        return csgraph.dijkstra(plain, unweighted=True, indices=sources)

    def finite(sources: list[int]) -> Any:
        found = hops(sources)
        found[numpy.isinf(found)] = 0
        return found

    def closeness(sources: list[int]) -> Any:
        found = finite(sources)
        return (found > 0).sum(1) / found.sum(1)

    def harmonic(sources: list[int]) -> Any:
        found = hops(sources)
        found[found == 0] = numpy.inf
        return (1 / found).sum(1)

    return {
        "distances": hops,
        "closeness": closeness,
        "harmonic": harmonic,
        "eccentricity": lambda sources: finite(sources).max(1),
        "weighted": lambda sources: csgraph.dijkstra(weighted, indices=sources),
        "pairs": lambda sources, targets: [
            csgraph.dijkstra(plain, unweighted=True, indices=source)[target]
            for source, target in zip(sources, targets, strict=True)
        ],
        "strong": lambda: csgraph.connected_components(plain, connection="strong")[1],
    }


def igraph(rows: Rows) -> Works:
    """igraph, which has every measure; it searches from one source after another."""
    import igraph

    tails, heads, weights = rows.ends()
    graph = igraph.Graph(n=rows.vertices, edges=numpy.stack([tails, heads], axis=1), directed=rows.directed)
    lengths = weights.astype(float).tolist()
    return {
        "distances": lambda sources: graph.distances(sources),
        "closeness": lambda sources: graph.closeness(sources, normalized=True),
        "harmonic": lambda sources: graph.harmonic_centrality(sources, normalized=False),
        "eccentricity": lambda sources: graph.eccentricity(sources),
        # Of an undirected graph, igraph returns half the sum.
        "betweenness": lambda sources: 2 * numpy.array(graph.betweenness(sources=sources)),
        "edges": lambda sources: graph.edge_betweenness(sources=sources),
        "weighted": lambda sources: graph.distances(sources, weights=lengths, algorithm="dijkstra"),
        "pairs": lambda sources, targets: [
            graph.distances(source, target)[0][0] for source, target in zip(sources, targets, strict=True)
        ],
        "strong": lambda: graph.connected_components("strong").membership,
    }


def networkit(rows: Rows) -> Works:
    """NetworKit; closeness and harmonic centrality are for all vertices alone, and left out."""
    import networkit

    tails, heads, weights = rows.ends()

    def made(weighted: bool) -> Any:
        ends = tails, heads
        given = (weights.astype(float), ends) if weighted else ends
        return networkit.GraphFromCoo(given, n=rows.vertices, weighted=weighted, directed=rows.directed)

    plain, lengths = made(weighted=False), made(weighted=True)
    largest = plain
    if not rows.directed:
        largest = networkit.components.ConnectedComponents.extractLargestConnectedComponent(plain, True)

    def several(graph: Any, sources: list[int]) -> Any:
        return networkit.distance.SPSP(graph, sources).run().getDistances()

    def diameter() -> Any:
        return (
            networkit.distance.Diameter(largest, networkit.distance.DiameterAlgo.EXACT).run().getDiameter()[0]
        )

    def pair(source: int, target: int) -> Any:
        return networkit.distance.BidirectionalBFS(plain, source, target, False).run().getDistance()

    return {
        "distances": lambda sources: several(plain, sources),
        "eccentricity": lambda sources: [
            networkit.distance.Eccentricity.getValue(plain, each)[1] for each in sources
        ],
        "diameter": diameter,
        "betweenness": lambda sources: networkit.centrality.EstimateBetweenness(plain, len(sources)).run(),
        "weighted": lambda sources: several(lengths, sources),
        "pairs": lambda sources, targets: list(map(pair, sources, targets)),
        "strong": lambda: (
            networkit.components.StronglyConnectedComponents(plain).run().getPartition().getVector()
        ),
    }


def graphblas(rows: Rows) -> Works:
    """python-graphblas on SuiteSparse: a masked product of matrices a level, for all sources at once."""
    import graphblas

    graphblas.init("suitesparse", blocking=True)
    from graphblas import Matrix, Vector, binary, replace, semiring

    n = rows.vertices
    offsets, columns = rows.row_offsets.astype(numpy.uint64), rows.column_indices.astype(numpy.uint64)
    plain = Matrix.from_csr(offsets, columns, numpy.ones(len(columns), bool), ncols=n)
    lengths = Matrix.from_csr(offsets, columns, rows.weights.astype(numpy.int64), ncols=n)

    def hops(sources: list[int]) -> Any:
        level = Matrix(numpy.int32, len(sources), n)
        frontier = Matrix.from_coo(range(len(sources)), sources, True, nrows=len(sources), ncols=n)
        depth = 0
        while frontier.nvals:
            level(frontier.S) << depth
            depth += 1
            frontier(~level.S, replace) << semiring.any_pair[bool](frontier @ plain)
        return level

    def weighted(sources: list[int]) -> Any:
        return [alone(each) for each in sources]

    def alone(source: int) -> Any:
        distance = Vector(numpy.int64, n)
        distance[source] = 0
        changed = distance.dup()
        while changed.nvals:
            reached = semiring.min_plus(changed @ lengths).new()
            nearer = Vector(bool, n)
            nearer << binary.lt(reached & distance)
            changed = Vector(numpy.int64, n)
            changed(nearer.V) << reached
            changed(~distance.S) << reached
            distance(binary.min) << changed
        return distance

    return {"distances": hops, "weighted": weighted}


PEERS: dict[str, Callable[[Rows], Works]] = {
    "SciPy": scipy,
    "igraph": igraph,
    "networkit": networkit,
    "graphblas": graphblas,
}
