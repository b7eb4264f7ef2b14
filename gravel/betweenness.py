"""Betweenness of vertices and of edges: how many shortest paths go through each."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from gravel.labels import Labelled, Labels
from gravel.measured_rows import plain_rows
from gravel.measures import Measure, Progress, drawn, fitting, since
from gravel.vertex_ids import Ids, listed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.graphs import Graph


class EdgeMeasure(Labelled):
    """A number for each edge, under the caller's ids of its ends.

    `values` has the numbers, float64 (edges,), in ascending order of the ends in `graph.vertices`, and
    `milliseconds` says how long they took.
    """

    def __init__(
        self, name: str, ids: Ids, ends: NDArray[Any], values: NDArray[Any], milliseconds: float
    ) -> None:
        self.name = name
        self.values = values
        self.milliseconds = milliseconds
        self._ids = ids
        self._ends = ends

    def __len__(self) -> int:
        return len(self.values)

    def top(self, count: int = 10) -> list[tuple[tuple[Any, Any], Any]]:
        """Return the ends of the edges with the largest numbers, and these; of equal ones the first edges."""
        import numpy

        if count < 0:
            raise ValueError(f"count is {count}; it must be 0 or more")
        first = numpy.argsort(-self.values, kind="stable")[:count]
        ends = (listed(self._ids, each[first]) for each in self._ends)
        return list(zip(zip(*ends, strict=True), self.values[first].tolist(), strict=True))

    def __repr__(self) -> str:
        return f"<gravel.EdgeMeasure: {self.name} of {len(self):,} edges>"

    def _columns(self) -> dict[str, Labels]:
        source, target = (
            Labels(name, each, self._ids, vertices=True)
            for name, each in zip(("source", "target"), self._ends, strict=True)
        )
        values = Labels(self.name, self.values, self._ids, vertices=False)
        return {"source": source, "target": target, self.name: values}


def betweenness(
    graph: Graph, k: int | None, seed: int, normalized: bool, endpoints: bool, progress: Progress | None
) -> Measure:
    """Compute betweenness; see `Graph.betweenness`."""
    import numpy

    started = time.perf_counter()
    found = _Sums(graph, "betweenness", k, seed, progress, endpoints=endpoints)
    values = found.scaled(normalized, endpoints=endpoints)
    if found.permutation is not None:
        values = values[found.permutation]
    return Measure("betweenness", graph._ids, numpy.arange(len(graph)), values, since(started))


def edge_betweenness(
    graph: Graph, k: int | None, seed: int, normalized: bool, progress: Progress | None
) -> EdgeMeasure:
    """Compute betweenness of edges; see `Graph.edge_betweenness`."""
    from gravel.kernels.arrays import on_host
    from gravel.kernels.betweenness.edges import sums_of_edges

    started = time.perf_counter()
    found = _Sums(graph, "edge_betweenness", k, seed, progress, of_arcs=True)
    ends, values = sums_of_edges(
        on_host(found.rows[0]),
        on_host(found.rows[1]),
        found.scaled(normalized, of_arcs=True),
        directed=graph.directed,
        permutation=found.permutation,
    )
    return EdgeMeasure("edge_betweenness", graph._ids, ends, values, since(started))


class _Sums:
    """Sums over all vertices or `k` of them, in the order of the rows, and how to read them."""

    def __init__(
        self,
        graph: Graph,
        name: str,
        k: int | None,
        seed: int,
        progress: Progress | None,
        **options: bool,
    ) -> None:
        from gravel.kernels.betweenness.sums import betweenness as sums_of
        from gravel.stages.turning import backward_rows

        self.rows, self.permutation, memory = plain_rows(graph, name)
        starts, candidates = drawn(self.rows[0], self.permutation, k, seed)
        self._share = len(starts) / max(1, candidates) or 1.0
        rows = back = self.rows
        if graph.directed:
            back = backward_rows(*rows)[:2]
            memory -= sum(int(each.nbytes) for each in back)
        self._sums = fitting(lambda: sums_of(rows, back, starts, memory=memory, progress=progress, **options))
        self._vertices, self._directed = len(graph), graph.directed

    def scaled(self, normalized: bool, **options: bool) -> NDArray[Any]:
        """Return the sums as shares of all pairs, or with each pair of ends counted once."""
        from gravel.kernels.betweenness.sums import scale

        factor = scale(
            self._vertices,
            normalized=normalized,
            directed=self._directed,
            sampled=self._share,
            **options,
        )
        found: NDArray[Any] = self._sums * factor
        return found
