"""Measures by distances: sums over them, eccentricities and their extremes; PageRank."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, get_args

import numpy

from gravel.conversion.ids import several
from gravel.errors import NotEnoughMemory, checked_number
from gravel.graphs.measured_rows import kept_searches, searched_rows
from gravel.kernels.arrays import on_host
from gravel.kernels.distances.measures import DISTANCE_MEASURES
from gravel.memory import refuse_need
from gravel.results.measures import Measure
from gravel.stages.turning import Direction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.conversion.ids import Ids
    from gravel.graphs.rows import PlacedRows
    from gravel.kernels.distances.measures import Values
    from gravel.progress import Progress


def by_sources(
    rows: PlacedRows,
    ids: Ids,
    name: str,
    vertices: Any,
    progress: Progress | None,
    *,
    values: Values | None = None,
    hops: int | None = None,
) -> Measure:
    """Search from each vertex and compute a measure of the table, or its `values`, from sums over distances.

    `hops` is for a measure whose searches go as far as asked.
    """
    from gravel.kernels.distances.many import aggregate_rows

    chosen = chosen_vertices(ids, vertices)
    started = time.perf_counter()
    there = searched_rows(rows, name)
    starts = chosen if there.permutation is None else there.permutation[chosen]
    measure = DISTANCE_MEASURES[name]
    options: dict[str, Any] = {"memory": there.memory, "split": there.split, "symmetric": not rows.directed}
    options["max_depth"] = hops if measure.hops == "asked" else measure.hops
    found = fitting(lambda: aggregate_rows(there.rows, starts, progress=progress, **options))
    return Measure(name, ids, chosen, (values or measure.values)(found, len(rows)), since(started))


def neighbourhood(rows: PlacedRows, ids: Ids, hops: int, vertices: Any, progress: Progress | None) -> Measure:
    """Count the vertices within `hops` of each; see `Graph.neighbourhood`."""
    hops = checked_number("hops", hops, whole=True)
    return by_sources(rows, ids, "neighbourhood", vertices, progress, hops=hops)


def eccentricity(rows: PlacedRows, ids: Ids, vertices: Any, progress: Progress | None) -> Measure:
    """Compute eccentricities; see `Graph.eccentricity`."""
    if vertices is not None or rows.directed:
        return by_sources(rows, ids, "eccentricity", vertices, progress)
    started = time.perf_counter()
    values = _bounded(rows, "eccentricity", "all", progress)
    return Measure("eccentricity", ids, numpy.arange(len(rows)), values, since(started))


def extreme(rows: PlacedRows, goal: str, progress: Progress | None) -> int:
    """Return the `diameter` or the `radius`; raises ValueError without vertices, and for a directed graph."""
    if not len(rows):
        raise ValueError(f"a graph without vertices has no {goal}")
    if rows.directed:
        raise ValueError(
            f"the {goal} is defined here for undirected graphs, and this one is directed; take "
            "direction='both', or the largest or smallest of graph.eccentricity()"
        )
    if goal == "radius":
        return int(_bounded(rows, goal, goal, progress).min())
    from gravel.kernels.distances.eccentricity import diameter_of_rows

    there = searched_rows(rows, goal)
    with kept_searches(rows, there.rows) as searches:
        options: dict[str, Any] = {"memory": there.memory, "split": there.split, "searches": searches}
        options |= {"progress": progress}
        return int(fitting(lambda: diameter_of_rows(there.rows, **options)))


def _bounded(rows: PlacedRows, name: str, goal: str, progress: Progress | None) -> NDArray[Any]:
    """Return eccentricities, exact where the goal needs them, from few searches."""
    from gravel.kernels.distances.eccentricity import eccentricities_of_rows

    there = searched_rows(rows, name)
    options: dict[str, Any] = {"memory": there.memory, "split": there.split, "progress": progress}
    with kept_searches(rows, there.rows) as searches:
        options |= {"in_parts": True, "searches": searches}
        found = fitting(lambda: eccentricities_of_rows(there.rows, goal, **options))
    values: NDArray[Any] = numpy.asarray(on_host(found))
    return values if there.permutation is None else values[there.permutation]


def pagerank(
    rows: PlacedRows, ids: Ids, direction: Direction, by: str, personalization: Any, **asked: Any
) -> Measure:
    """Compute PageRank; see `Graph.pagerank`."""
    from gravel.kernels.pagerank import pagerank as ranks_of
    from gravel.stages.measuring.flow import Flow, flow_need, flow_of, is_weighted
    from gravel.stages.traversal.buffers import extent_of

    if direction not in get_args(Direction):
        raise ValueError(f"direction is {direction!r}; it can be 'out', 'in' or 'both'")
    stored, machine = rows.stored, rows.machine
    if machine.backend == "cuda" and rows.placement in ("pinned", "split", "streamed"):
        raise ValueError(
            f"pagerank reads rows in GPU memory or on the CPU, and these are {rows.placement}; "
            "place the graph with place('device') or place('host')"
        )
    flows = direction if rows.directed else "out"
    weighted = is_weighted(stored, by)
    jumps = _shares_of(ids, personalization)
    key = "pagerank", flows, weighted
    started = time.perf_counter()

    def prepare() -> Flow:
        need = flow_need(extent_of(stored), flows, machine, weighted=weighted, personalized=jumps is not None)
        refuse_need("pagerank", need, machine, rows.host_memory, "Use a machine with more memory")
        return flow_of(stored, flows, machine, weighted=weighted)

    flow: Flow = rows.lent(key, prepare)
    asked |= {"personalization": flow.in_rows(jumps)}
    found = ranks_of(flow.rows, flow.outgoing, flow.weights, **asked)
    rows.prepared[key] = flow
    return Measure(
        "pagerank",
        ids,
        numpy.arange(len(rows)),
        flow.in_order(found.rank),
        since(started),
        iterations=found.iterations,
        residual=found.residual,
    )


def _shares_of(ids: Ids, personalization: Any) -> NDArray[Any] | None:
    """Return a number for each vertex from a mapping of ids, or 1 for each id of a list and else 0."""
    if personalization is None:
        return None
    found = numpy.zeros(ids.count)
    of_ids = isinstance(personalization, Mapping)
    found[chosen_vertices(ids, list(personalization) if of_ids else personalization)] = (
        list(personalization.values()) if of_ids else 1.0
    )
    return found


def chosen_vertices(ids: Ids, vertices: Any) -> NDArray[Any]:
    """Return the vertices of ids, or all; raises `UnknownVertex`, and ValueError for duplicates."""
    if vertices is None:
        return numpy.arange(ids.count)
    given = list(several(vertices))
    chosen = numpy.array([ids.vertex(each) for each in given], numpy.int64)
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
    from gravel.stages.traversal.preparation import draw_among

    if k is not None and k < 1:
        raise ValueError(f"k is {k}; it must be 1 or more, or None for all vertices")
    degrees = numpy.diff(on_host(row_offsets))
    candidates = numpy.flatnonzero(degrees if permutation is None else degrees[permutation])
    starts = candidates if k is None else numpy.sort(draw_among(candidates, k, seed))
    return starts if permutation is None else permutation[starts], len(candidates)


def fitting(work: Callable[[], Any]) -> Any:
    """Call a function; raises `NotEnoughMemory` where its narrowest batch does not fit."""
    from gravel.kernels.distances.interface import TooNarrow

    try:
        return work()
    except TooNarrow as error:
        raise NotEnoughMemory(f"{error}. Use a machine with more memory") from None


def since(started: float) -> float:
    """Return the milliseconds since a time of `perf_counter`."""
    return (time.perf_counter() - started) * 1e3
