"""Closeness and betweenness of a graph, from all sources or a sample, by arcs or by weights."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy

from gravel.graphs.measured_rows import plain_rows, searched_rows, weighted_rows
from gravel.graphs.measures import by_sources, chosen_vertices, drawn, fitting, since
from gravel.kernels.arrays import on_host
from gravel.results.measures import EdgeMeasure, Measure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.conversion.ids import Ids
    from gravel.graphs.measured_rows import Rows
    from gravel.graphs.rows import PlacedRows
    from gravel.kernels.distances.aggregates import VertexAggregates
    from gravel.progress import Progress
    from gravel.stages.turning import Direction

BY = ("arcs", "weights")


def closeness(
    rows: PlacedRows,
    ids: Ids,
    vertices: Any,
    k: int | None,
    seed: int,
    wf_improved: bool,
    by: str,
    direction: Direction,
    progress: Progress | None,
) -> Measure:
    """Compute closeness; see `Graph.closeness`."""
    from gravel.kernels.distances.closeness import closeness as of_sums
    from gravel.kernels.distances.weighted import aggregate

    weighted = is_weighted(by)
    if k is not None:
        return _estimated(rows, ids, vertices, k, seed, wf_improved, weighted, direction, progress)
    rows = rows.in_direction(direction)
    if not weighted:
        values = partial(of_sums, wf_improved=wf_improved)
        return by_sources(rows, ids, "closeness", vertices, progress, values=values)
    chosen = chosen_vertices(ids, vertices)
    started = time.perf_counter()
    there, permutation, memory = weighted_rows(rows, "closeness", direction)
    starts = chosen if permutation is None else permutation[chosen]
    found = fitting(lambda: aggregate(*there, starts, progress=progress, memory=memory))
    return Measure(
        "closeness", ids, chosen, of_sums(found, len(rows), wf_improved=wf_improved), since(started)
    )


def _estimated(
    rows: PlacedRows,
    ids: Ids,
    vertices: Any,
    k: int,
    seed: int,
    wf_improved: bool,
    weighted: bool,
    direction: Direction,
    progress: Progress | None,
) -> Measure:
    """Search from sampled vertices against the direction, in which distances lead to them."""
    from gravel.kernels.distances import many
    from gravel.kernels.distances import weighted as by_weight
    from gravel.kernels.distances.closeness import estimate
    from gravel.kernels.layouts.units import offsets_of

    opposite: dict[Direction, Direction] = {"out": "in", "in": "out"}
    rows = rows.in_direction(opposite.get(direction, direction))
    chosen = chosen_vertices(ids, vertices)
    started = time.perf_counter()
    options: dict[str, Any] = {"vertices": True, "progress": progress}
    if weighted:
        there, permutation, memory = weighted_rows(rows, "closeness", opposite.get(direction, direction))
        offsets, search = there[0], partial(by_weight.aggregate, *there)
        options["memory"] = memory
    else:
        placed = searched_rows(rows, "closeness")
        permutation, offsets = placed.permutation, on_host(offsets_of(placed.rows))
        search = partial(many.aggregate_rows, placed.rows, symmetric=not rows.directed)
        options |= {"memory": placed.memory, "split": placed.split}
    starts, _ = drawn(offsets, permutation, k, seed)
    candidates = numpy.diff(offsets) > 0
    if len(starts):
        sums: VertexAggregates = fitting(lambda: search(starts, **options)).vertices
        least = 0.0 if weighted else 1.0
        found = estimate(sums, starts, candidates, wf_improved=wf_improved, least=least)
    else:
        found = numpy.zeros(len(rows)), numpy.zeros(len(rows))
    places = chosen if permutation is None else permutation[chosen]
    values, errors = (each[places] for each in found)
    sample = errors if len(starts) < numpy.count_nonzero(candidates) else None
    return Measure("closeness", ids, chosen, values, since(started), errors=sample, sources=len(starts))


def is_weighted(by: str) -> bool:
    """Say whether paths are measured by weights; raises ValueError for what `by` cannot be."""
    if by not in BY:
        raise ValueError(f"by is {by!r}; it can be 'arcs' or 'weights'")
    return by == "weights"


def betweenness(
    rows: PlacedRows,
    ids: Ids,
    k: int | None,
    seed: int,
    normalized: bool,
    endpoints: bool,
    by: str,
    direction: Direction,
    progress: Progress | None,
) -> Measure:
    """Compute betweenness; see `Graph.betweenness`."""
    started = time.perf_counter()
    asked = (k, seed, normalized, is_weighted(by), direction, progress)
    _, permutation, values, sample = _sums(rows, "betweenness", *asked, endpoints=endpoints)
    if permutation is not None:
        values = values[permutation]
    return Measure("betweenness", ids, numpy.arange(len(rows)), values, since(started), **sample.of(values))


def edge_betweenness(
    rows: PlacedRows,
    ids: Ids,
    k: int | None,
    seed: int,
    normalized: bool,
    by: str,
    direction: Direction,
    progress: Progress | None,
) -> EdgeMeasure:
    """Compute betweenness of edges; see `Graph.edge_betweenness`."""
    from gravel.kernels.betweenness.edges import sums_of_edges

    started = time.perf_counter()
    asked = (k, seed, normalized, is_weighted(by), direction, progress)
    searched, permutation, sums, sample = _sums(rows, "edge_betweenness", *asked, of_arcs=True)
    offsets, columns = map(on_host, searched)
    ends, values = sums_of_edges(offsets, columns, sums, directed=rows.directed, permutation=permutation)
    return EdgeMeasure("edge_betweenness", ids, ends, values, since(started), **sample.of(values))


def _sums(
    rows: PlacedRows,
    name: str,
    k: int | None,
    seed: int,
    normalized: bool,
    weighted: bool,
    direction: Direction,
    progress: Progress | None,
    **options: bool,
) -> tuple[Rows, NDArray[Any] | None, NDArray[Any], _Sample]:
    """Return plain rows, their permutation, and sums over all vertices or `k` of them in this order.

    The sums are shares of all pairs, or count each pair of ends once.
    """
    from gravel.kernels.betweenness.sums import betweenness, scale
    from gravel.stages.turning import backward_rows

    weights = None
    if weighted:
        (*columns, weights), permutation, memory = weighted_rows(rows, name, direction)
        forward: Rows = (columns[0], columns[1])
    else:
        forward, permutation, memory = plain_rows(rows, name)
    starts, candidates = drawn(forward[0], permutation, k, seed)
    share = len(starts) / max(1, candidates) or 1.0
    back = forward
    if rows.directed and not weighted:
        back = backward_rows(*forward)[:2]
        memory -= sum(int(each.nbytes) for each in back)
    asked: dict[str, Any] = {"memory": memory, "progress": progress, "weights": weights, **options}
    sums = fitting(lambda: betweenness(forward, back, starts, **asked))
    factor = scale(len(rows), normalized=normalized, directed=rows.directed, sampled=share, **options)
    most = len(rows) - (1 if any(options.values()) else 2)
    return forward, permutation, sums * factor, _Sample(factor, most, len(starts), candidates)


@dataclass(frozen=True)
class _Sample:
    """What bounds the errors of sums, as `sampling_error` takes it."""

    factor: float
    most: int
    sources: int
    candidates: int

    def of(self, values: NDArray[Any]) -> dict[str, Any]:
        """Return the facts of values that a result has."""
        from gravel.kernels.betweenness.sums import sampling_error

        if self.sources == self.candidates:
            return {"sources": self.sources}
        return {"sources": self.sources, "errors": sampling_error(values, **vars(self))}
