"""Other libraries' searches and components, each used as its documentation suggests for speed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray


class Peer(NamedTuple):
    """A library with the graph loaded.

    `search` finds what `finds` says; `distances` turns its result into distances, or is None for one that
    gives predecessors with -1 for none. `components` labels vertices, or is None.
    """

    finds: str
    search: Callable[[int], Any]
    distances: Callable[[Any, int], NDArray[Any]] | None
    components: Callable[[], Any] | None


def smallest_members(labels: Any) -> NDArray[numpy.int64]:
    """Name each component by its smallest vertex, whatever a library calls it."""
    labels = numpy.asarray(labels).astype(numpy.int64)
    smallest = numpy.full(labels.max(initial=0) + 1, len(labels), numpy.int64)
    numpy.minimum.at(smallest, labels, numpy.arange(len(labels)))
    return smallest[labels]


def _tails(row_offsets: NDArray[Any]) -> NDArray[Any]:
    return numpy.repeat(numpy.arange(len(row_offsets) - 1, dtype=numpy.uint32), numpy.diff(row_offsets))


def graphblas(row_offsets: NDArray[Any], columns: NDArray[Any]) -> Peer:
    """python-graphblas on SuiteSparse: one masked vector-matrix product a level."""
    import graphblas

    graphblas.init("suitesparse", blocking=True)
    from graphblas import Matrix, Vector, replace, semiring

    n = len(row_offsets) - 1
    matrix = Matrix.from_csr(
        row_offsets.astype(numpy.uint64),
        columns.astype(numpy.uint64),
        numpy.ones(len(columns), bool),
        ncols=n,
    )

    def search(source: int) -> Any:
        level = Vector(numpy.int32, n)
        frontier = Vector(bool, n)
        frontier[source] = True
        depth = 0
        while frontier.nvals:
            level(frontier.S) << depth
            depth += 1
            frontier(~level.S, replace) << semiring.any_pair[bool](frontier @ matrix)
        return level

    def distances(level: Any, source: int) -> NDArray[Any]:
        indices, values = level.to_coo()
        found = numpy.full(n, -1, numpy.int32)
        found[indices] = values
        return found

    return Peer("distance", search, distances, None)


def networkit(row_offsets: NDArray[Any], columns: NDArray[Any]) -> Peer:
    """NetworKit, without stored paths."""
    import networkit

    n = len(row_offsets) - 1
    tails = _tails(row_offsets)
    once = tails < columns
    ends = tails[once].astype(numpy.uint64), columns[once].astype(numpy.uint64)
    graph = networkit.GraphFromCoo(ends, n=n, weighted=False, directed=False)

    def search(source: int) -> Any:
        return networkit.distance.BFS(graph, source, storePaths=False).run()

    def distances(done: Any, source: int) -> NDArray[Any]:
        found = numpy.array(done.getDistances())
        return numpy.where(found > n, -1, found).astype(numpy.int32)

    def components() -> Any:
        return networkit.components.ParallelConnectedComponents(graph, False).run().getPartition().getVector()

    return Peer("distance", search, distances, components)


def igraph(row_offsets: NDArray[Any], columns: NDArray[Any]) -> Peer:
    """igraph, whose distances are the faster of its two searches."""
    import igraph

    n = len(row_offsets) - 1
    tails = _tails(row_offsets)
    once = tails < columns
    graph = igraph.Graph(n=n, edges=numpy.stack([tails[once], columns[once]], axis=1))

    def distances(found: Any, source: int) -> NDArray[Any]:
        hops = numpy.array(found[0], numpy.float64)
        return numpy.where(numpy.isinf(hops), -1, hops).astype(numpy.int32)

    return Peer(
        "distance",
        lambda source: graph.distances(source=source),
        distances,
        lambda: graph.connected_components().membership,
    )


def scipy(row_offsets: NDArray[Any], columns: NDArray[Any]) -> Peer:
    """SciPy's breadth-first order, the fastest of its searches."""
    from scipy.sparse import csgraph, csr_array

    n = len(row_offsets) - 1
    # 64-bit floats and 32-bit indices are what csgraph works on; anything else is converted at every call.
    data = numpy.ones(len(columns))
    matrix = csr_array((data, columns.astype(numpy.int32), row_offsets.astype(numpy.int32)), (n, n))

    def search(source: int) -> Any:
        return csgraph.breadth_first_order(matrix, source, directed=True)[1]

    return Peer(
        "predecessor",
        search,
        None,
        lambda: csgraph.connected_components(matrix, directed=False)[1],
    )


PEERS: dict[str, Callable[[NDArray[Any], NDArray[Any]], Peer]] = {
    "python-graphblas": graphblas,
    "networkit": networkit,
    "igraph": igraph,
    "scipy": scipy,
}
