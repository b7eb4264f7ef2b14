"""Shortest paths from one vertex, by the weights of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gravel.kernels.arrays import on_host
from gravel.labels import Labelled, Labels
from gravel.searches import path_back
from gravel.vertex_ids import Ids, vertex_of

if TYPE_CHECKING:
    from gravel.graphs import Graph

NEEDS_WEIGHTS = "shortest paths need weights, and this graph has none: gravel.graph(..., weights=...)"


class ShortestPaths(Labelled):
    """Lengths of shortest paths and predecessors on them, under the caller's ids.

    `distance` is int32 or int64 if weights are integers, else float64. `milliseconds` is the time of the
    search alone, `strategy` what searched.
    """

    def __init__(
        self,
        ids: Ids,
        source: Any,
        vertex: int,
        read: Callable[[], tuple[Any, Any]],
        record: Mapping[str, Any],
    ) -> None:
        self.source = source
        self.milliseconds = float(record.get("milliseconds", 0.0))
        self.strategy = str(record.get("strategy", ""))
        self._ids, self._vertex, self._read = ids, vertex, read

    @cached_property
    def _labels(self) -> tuple[Any, Any]:
        return self._read()

    @property
    def distance(self) -> Labels:
        """The length of a shortest path to each vertex; of unreached ones -1, or inf of floats."""
        return Labels("distance", self._labels[0], self._ids, vertices=False)

    @property
    def predecessor(self) -> Labels:
        """The vertex before each on a shortest path; none for the source and what is not reached."""
        if self._labels[1] is None:
            raise ValueError("this search made distances alone; ask for output='both'")
        return Labels("predecessor", self._labels[1], self._ids, vertices=True)

    @property
    def reached(self) -> int:
        """How many vertices the search reached, the source included."""
        distance = self._labels[0]
        return int(((distance >= 0) & (distance < float("inf"))).sum())

    def path_to(self, target: Any) -> list[Any] | None:
        """Return a shortest path from the source to a vertex, as ids; None where there is none."""
        before = self.predecessor.array
        return path_back(self._ids, before, self._vertex, vertex_of(self._ids, target))

    def __repr__(self) -> str:
        reached = f"{self.reached:,} of {self._ids.count:,} vertices"
        took = f"{self.milliseconds:.3g} ms, {self.strategy}"
        return f"<gravel.ShortestPaths from {self.source!r}: {reached} in {took}>"

    def __reduce__(self) -> Any:
        from gravel.pickled import labels_read

        record = {"milliseconds": self.milliseconds, "strategy": self.strategy}
        return ShortestPaths, (self._ids, self.source, self._vertex, labels_read(*self._labels), record)

    def _columns(self) -> dict[str, Labels]:
        import numpy

        columns = {"vertex": Labels("vertex", numpy.arange(self._ids.count), self._ids, vertices=True)}
        columns["distance"] = self.distance
        if self._labels[1] is not None:
            columns["predecessor"] = self.predecessor
        return columns


class PreparedPaths:
    """Weighted rows made ready for one search after another."""

    def __init__(self, ids: Ids, search: Any, permutation: Any) -> None:
        self._ids, self._search, self._permutation = ids, search, permutation

    def run(self, source: Any, vertex: int) -> ShortestPaths:
        """Search from a vertex; results have memory of their own."""
        from gravel.stages.traversal.sssp import labels_back

        permutation = self._permutation
        found = self._search.run(vertex if permutation is None else int(permutation[vertex]))
        if permutation is None:
            labels = found.distance, found.predecessor
        else:
            labels = labels_back(on_host(permutation), found)[:2]
        record = {"milliseconds": found.milliseconds, "strategy": self._search.strategy}
        return ShortestPaths(self._ids, source, vertex, lambda: labels, record)


def prepare_paths(graph: Graph, output: str, strategy: str, tuning: dict[str, Any]) -> PreparedPaths:
    """Make a weighted graph ready; raises ValueError for one without weights, and `NotEnoughMemory`."""
    from gravel.prepared import searched_with
    from gravel.rows import called
    from gravel.stages.compressing.weights import unpacked_weights
    from gravel.stages.traversal import sssp

    weights = unpacked_weights(graph._stored.weights)
    if weights is None:
        raise ValueError(NEEDS_WEIGHTS)
    searched, parameters = searched_with(
        graph, algorithm="sssp", strategy=strategy, output=output, tuning=tuning
    )
    search, _ = called(sssp.prepare_paths, searched, weights, parameters)
    return PreparedPaths(graph._ids, search, searched.permutation)
