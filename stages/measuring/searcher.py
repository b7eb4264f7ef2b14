"""Searchers of batches, in the process of the stage or on other workers, and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from gravel.stages.measuring.batches import Arrays, Batch, one_by_one

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.measuring.graph import MeasuredGraph
    from gravel.stages.measuring.parameters import CentralityParameters

SUMS = ("reached", "total", "reciprocal", "eccentricity")
"""What is found of each source but for betweenness."""


SUMS_OF_VERTICES = ("reached", "total", "largest")
"""What is found of each vertex over sampled sources."""

SAMPLED_TOGETHER = 64
"""Sampled sources by weights whose distances are added up by themselves."""

FOUND_BYTES = 64 << 20
"""Bytes that a searcher brings back at once, if more than one batch; they wait on its worker till then."""


class Searcher(Protocol):
    """A graph that is ready. `batch` sources are searched from together; `form` says how.

    What is found by searchers of one `rounding` is equal to the last bit. Up to `most` sources, whole
    batches, are asked for at once.
    """

    batch: int
    most: int
    form: str
    rounding: str

    def find(self, sources: NDArray[Any]) -> Arrays:
        """Search from these sources, up to `most`."""
        ...


Take = Callable[[int, int, Arrays], None]
"""Gets what was found of the sources from the first position to the last."""


class Here:
    """Searcher of batches one after another in this process, as `over_workers.Workers` is on others."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self.names: list[str] = []
        self.form, self.rounding = searcher.form, searcher.rounding

    def searched(self, sources: NDArray[Any], take: Take) -> Callable[[int], Iterator[Batch]]:
        """Return what searches from the sources at a position on, and gives what is found to `take`."""

        def search(first: int, last: int) -> None:
            take(first, last, self._searcher.find(sources[first:last]))

        return one_by_one(len(sources), self._searcher.batch, search)


def _searches_of(graph: MeasuredGraph, hops: int | None, sources: int, memory: int, vertices: bool) -> Any:
    """Make a graph ready for searches by arcs or by weights, with sums for `vertices` if asked for."""
    from gravel.kernels.distances import many
    from gravel.kernels.distances.weighted import ByWeight

    if graph.weights is not None:
        asked: dict[str, Any] = {"sources": sources, "vertices": vertices, "memory": memory}
        return ByWeight(*graph.columns, graph.weights, **asked)
    return many.prepare_rows(
        graph.rows,
        symmetric=graph.symmetric,
        sources=sources,
        max_depth=hops,
        vertices=vertices,
        memory=memory,
        split=graph.split,
    )


def dtype_of(graph: MeasuredGraph) -> str:
    """Name the type of sums of distances."""
    return "i8" if graph.weights is None else "f8"


class Distances:
    """Sums of the distances of each source; they are the same in every form."""

    rounding = "sums of sources"

    def __init__(self, graph: MeasuredGraph, hops: int | None, sources: int, memory: int) -> None:
        self._searches = _searches_of(graph, hops, sources, memory, vertices=False)
        self._dtype = dtype_of(graph)
        self.batch = self._searches.batch
        self.most = max(1, FOUND_BYTES // (8 * len(SUMS) * self.batch)) * self.batch
        self.form = "one by one" if self._searches.independent else f"{self.batch} together"

    def find(self, sources: NDArray[Any]) -> Arrays:
        """Return arrays with an element for each source."""
        from gravel.kernels.distances.aggregates import Aggregates
        from gravel.kernels.distances.many import run_all

        found = Aggregates.empty(len(sources), dtype=self._dtype)
        run_all(self._searches, sources, found)
        return {name: getattr(found, name) for name in SUMS}


class DistancesToSample:
    """Sums of the distances of each vertex from sources.

    Those of weights are rounded: sources are added up by as many with any number of threads.
    """

    def __init__(self, graph: MeasuredGraph, sources: int, memory: int) -> None:
        self._searches = _searches_of(graph, None, sources, memory, vertices=True)
        self._dtype, weighted = dtype_of(graph), graph.weights is not None
        self.batch = SAMPLED_TOGETHER if weighted else self._searches.batch
        most = FOUND_BYTES // (8 * len(SUMS_OF_VERTICES) * max(1, graph.vertex_count) * self.batch)
        self.most = self.batch if weighted else max(1, most) * self.batch
        self.form = "one by one" if self._searches.independent else f"{self.batch} together"
        self.rounding = f"sums of {self.batch} sources" if weighted else "sums of vertices"

    def find(self, sources: NDArray[Any]) -> Arrays:
        """Return arrays with an element for each vertex."""
        from gravel.kernels.distances.aggregates import Aggregates
        from gravel.kernels.distances.many import run_all

        self._searches.forget_vertices()
        run_all(self._searches, sources, Aggregates.empty(len(sources), dtype=self._dtype))
        found = self._searches.vertices()
        return {name: getattr(found, name).copy() for name in SUMS_OF_VERTICES}


class Shares:
    """Shares of vertices, or arcs, in shortest paths, summed over parts of the sources."""

    def __init__(
        self, graph: MeasuredGraph, parameters: CentralityParameters, sources: int, memory: int
    ) -> None:
        from gravel.kernels.betweenness.interface import Wanted
        from gravel.kernels.betweenness.sums import prepare
        from gravel.stages.turning import backward_rows

        rows = graph.columns
        back = rows if graph.symmetric or graph.weights is not None else backward_rows(*rows)[:2]
        of_arcs = parameters.measure == "edge_betweenness"
        wanted = Wanted(rows, back, sources, of_arcs, parameters.endpoints, graph.weights)
        self.sums = prepare(wanted, memory=memory)
        self.batch = self.sums.batch
        size = graph.arc_count if of_arcs else graph.vertex_count
        batch_bytes = 8 * max(1, size) * (self.batch // self.sums.part)
        self.most = max(1, FOUND_BYTES // batch_bytes) * self.batch
        self.form = self.rounding = self.sums.form

    def find(self, sources: NDArray[Any]) -> Arrays:
        """Return the sums of parts, a row each; the sources begin with a part."""
        import numpy

        return {"parts": numpy.stack([part.copy() for part in self.sums.parts(sources)])}


def searcher_of(
    graph: MeasuredGraph, parameters: CentralityParameters, sources: int, memory: int
) -> Searcher:
    """Make a graph ready for what the parameters ask, from so many sources in all.

    Raises `gravel.kernels.distances.interface.TooNarrow` where not even the narrowest batch fits.
    """
    if parameters.of_paths:
        return Shares(graph, parameters, sources, memory)
    if parameters.estimated:
        return DistancesToSample(graph, sources, memory)
    return Distances(graph, parameters.depth, sources, memory)
