"""Measures of vertices by their distances: closeness, harmonic, eccentricity, neighbourhoods."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gravel.labels import Labelled, Labels
from gravel.measured_rows import kept_searches, searched_rows
from gravel.vertex_ids import Ids, listed, several, vertex_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.graphs import Graph
    from gravel.kernels.distances.aggregates import Aggregates

Progress = Callable[[int, int], None]
"""Gets the vertices that are done and how many there are."""


class Measure(Labelled):
    """A number for each vertex that was asked for, under the caller's ids.

    `values` has the numbers in the order of the vertices, float64 (int64 for eccentricity and neighbourhood).
    `milliseconds` says how long they took.
    """

    def __init__(
        self, name: str, ids: Ids, vertices: NDArray[Any], values: NDArray[Any], milliseconds: float
    ) -> None:
        self.name = name
        self.values = values
        self.milliseconds = milliseconds
        self._ids = ids
        self._vertices = vertices

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, vertex: Any) -> Any:
        """Return the number of the vertex with this id; raises KeyError for one that was not asked for."""
        import numpy

        places = numpy.flatnonzero(self._vertices == vertex_of(self._ids, vertex))
        if not len(places):
            raise KeyError(f"{self.name} was not computed for {vertex!r}")
        return self.values[places[0]].item()

    def top(self, count: int = 10) -> list[tuple[Any, Any]]:
        """Return the ids with the largest numbers, and these; of equal ones the first vertices."""
        import numpy

        if count < 0:
            raise ValueError(f"count is {count}; it must be 0 or more")
        first = numpy.argsort(-self.values, kind="stable")[:count]
        return list(zip(listed(self._ids, self._vertices[first]), self.values[first].tolist(), strict=True))

    def __repr__(self) -> str:
        return f"<gravel.Measure: {self.name} of {len(self):,} vertices in {self.milliseconds:.3g} ms>"

    def _repr_html_(self) -> str:
        from gravel.picture import table

        largest = {str(vertex): value for vertex, value in self.top(5)}
        facts = {"vertices": f"{len(self):,}", "time": f"{self.milliseconds:.3g} ms"}
        return table(f"gravel.Measure: {self.name}", facts) + table("largest", largest)

    def _columns(self) -> dict[str, Labels]:
        vertices = Labels("vertex", self._vertices, self._ids, vertices=True)
        return {"vertex": vertices, self.name: Labels(self.name, self.values, self._ids, vertices=False)}


def closeness(graph: Graph, vertices: Any, wf_improved: bool, progress: Progress | None) -> Measure:
    """Compute closeness along the arcs of a graph; see `Graph.closeness`."""
    from gravel.kernels.distances.closeness import closeness as of

    return _by_sources(
        graph, "closeness", vertices, progress, lambda found: of(found, len(graph), wf_improved=wf_improved)
    )


def harmonic(graph: Graph, vertices: Any, progress: Progress | None) -> Measure:
    """Compute harmonic centrality; see `Graph.harmonic`."""
    return _by_sources(graph, "harmonic", vertices, progress, lambda found: found.reciprocal)


def neighbourhood(graph: Graph, hops: int, vertices: Any, progress: Progress | None) -> Measure:
    """Count vertices within some hops; see `Graph.neighbourhood`."""
    import numpy

    if not isinstance(hops, int | float | numpy.number):
        raise TypeError(f"hops is {hops!r}; a whole number is expected")
    if hops != int(hops) or hops < 0:
        raise ValueError(f"hops is {hops!r}; it must be a whole number, 0 or more")
    return _by_sources(
        graph, "neighbourhood", vertices, progress, lambda found: found.reached, max_depth=hops
    )


def eccentricity(graph: Graph, vertices: Any, progress: Progress | None) -> Measure:
    """Compute eccentricities; see `Graph.eccentricity`."""
    if vertices is not None or graph.directed:
        return _by_sources(graph, "eccentricity", vertices, progress, lambda found: found.eccentricity)
    import numpy

    started = time.perf_counter()
    values = _bounded(graph, "eccentricity", "all", progress)
    return Measure("eccentricity", graph._ids, numpy.arange(len(graph)), values, since(started))


def extreme(graph: Graph, goal: str) -> int:
    """Return the `diameter` or the `radius`; raises ValueError without vertices, and for a directed graph."""
    if not len(graph):
        raise ValueError(f"a graph without vertices has no {goal}")
    if graph.directed:
        raise ValueError(
            f"the {goal} is defined here for undirected graphs, and this one is directed; take "
            "direction='both', or the largest or smallest of graph.eccentricity()"
        )
    if goal == "radius":
        return int(_bounded(graph, goal, goal, None).min())
    from gravel.kernels.distances.eccentricity import diameter_of_rows

    there = searched_rows(graph, goal)
    with kept_searches(graph, there.rows) as searches:
        options: dict[str, Any] = {"memory": there.memory, "split": there.split, "searches": searches}
        return int(fitting(lambda: diameter_of_rows(there.rows, **options)))


def _by_sources(
    graph: Graph,
    name: str,
    vertices: Any,
    progress: Progress | None,
    of: Callable[[Aggregates], Any],
    **options: Any,
) -> Measure:
    from gravel.kernels.distances.many import aggregate_rows

    chosen = chosen_vertices(graph, vertices)
    started = time.perf_counter()
    there = searched_rows(graph, name)
    starts = chosen if there.permutation is None else there.permutation[chosen]
    options |= {"symmetric": not graph.directed, "memory": there.memory, "split": there.split}
    found = fitting(lambda: aggregate_rows(there.rows, starts, progress=progress, **options))
    return Measure(name, graph._ids, chosen, of(found), since(started))


def _bounded(graph: Graph, name: str, goal: str, progress: Progress | None) -> NDArray[Any]:
    import numpy

    from gravel.kernels.arrays import on_host
    from gravel.kernels.distances.eccentricity import eccentricities_of_rows

    there = searched_rows(graph, name)
    options: dict[str, Any] = {"memory": there.memory, "split": there.split, "progress": progress}
    with kept_searches(graph, there.rows) as searches:
        options |= {"in_parts": True, "searches": searches}
        found = fitting(lambda: eccentricities_of_rows(there.rows, goal, **options))
    values: NDArray[Any] = numpy.asarray(on_host(found))
    return values if there.permutation is None else values[there.permutation]


def chosen_vertices(graph: Graph, vertices: Any) -> NDArray[Any]:
    """Return the vertices of ids, or all; raises `UnknownVertex`, and ValueError for one that comes twice."""
    import numpy

    if vertices is None:
        return numpy.arange(len(graph))
    given = list(several(vertices))
    chosen = numpy.array([vertex_of(graph._ids, each) for each in given], numpy.int64)
    places, counts = numpy.unique(chosen, return_counts=True)
    twice = places[counts > 1]
    if len(twice):
        raise ValueError(f"vertex {given[int(numpy.flatnonzero(chosen == twice[0])[0])]!r} is listed twice")
    return chosen


def drawn(
    row_offsets: Any, permutation: NDArray[Any] | None, k: int | None, seed: int
) -> tuple[NDArray[Any], int]:
    """Return vertices to search from, as the rows number them, and how many vertices have edges.

    These are all with edges, or `k` of them that `seed` draws, the same in every order of the rows.
    """
    import numpy

    from gravel.kernels.arrays import on_host
    from gravel.stages.traversal.opening import draw_among

    if k is not None and k < 1:
        raise ValueError(f"k is {k}; it must be 1 or more, or None for all vertices")
    degrees = numpy.diff(on_host(row_offsets))
    candidates = numpy.flatnonzero(degrees if permutation is None else degrees[permutation])
    starts = candidates if k is None else numpy.sort(draw_among(candidates, k, seed))
    return starts if permutation is None else permutation[starts], len(candidates)


def fitting(work: Callable[[], Any]) -> Any:
    """Call what refuses memory by ValueError with its numbers."""
    from gravel.errors import NotEnoughMemory
    from gravel.kernels.distances.interface import TooNarrow

    try:
        return work()
    except TooNarrow as error:
        raise NotEnoughMemory(f"{error}. Use a machine with more memory") from None


def since(started: float) -> float:
    """Return the milliseconds since a time of `perf_counter`."""
    return (time.perf_counter() - started) * 1e3
