"""Distances between two sets of vertices, and the mean distance, exact or estimated."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from gravel.errors import NotEnoughMemory
from gravel.graphs.measured_rows import searched_rows
from gravel.graphs.measures import Progress, chosen_vertices, drawn, fitting, since
from gravel.kernels.arrays import on_host
from gravel.kernels.layouts.layout import body_name
from gravel.kernels.layouts.units import offsets_of
from gravel.memory import refuse_need
from gravel.results.measures import Distances, Estimate
from gravel.stages.sizes import Need

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.conversion.ids import Ids
    from gravel.graphs.rows import PlacedRows
    from gravel.stages.turning import Direction


def distances(
    rows: PlacedRows, ids: Ids, sources: Any, targets: Any, direction: Direction, bfs: Callable[..., Any]
) -> Distances:
    """Find distances between two sets; see `Graph.distances`. `bfs` searches from one id."""
    begins, ends = chosen_vertices(ids, sources), chosen_vertices(ids, targets)
    size = 4 * len(begins) * len(ends)
    what = f"{len(begins):,} x {len(ends):,} distances"
    refuse_need(what, Need(size, 0, ()), rows.machine, rows.host_memory, "Ask for fewer at a time")
    started = time.perf_counter()
    array = numpy.empty((len(begins), len(ends)), numpy.int32)
    starts, others, found = begins, ends, array
    if len(ends) < len(begins):  # the smaller set is searched from, against the direction
        starts, others, found = ends, begins, array.T
        opposite: dict[Direction, Direction] = {"out": "in", "in": "out"}
        direction = opposite.get(direction, direction)
    if not _found_together(rows.toward(direction), starts, others, found):
        for place, name in enumerate(ids.listed(starts)):
            found[place] = on_host(bfs(name, "distance", direction=direction).distance.array[others])
    return Distances(ids, begins, ends, array, since(started))


def _found_together(rows: PlacedRows, starts: NDArray[Any], others: NDArray[Any], into: NDArray[Any]) -> bool:
    """Fill in distances by searches of many vertices at once, on a GPU with room for them; says if it did."""
    from gravel.kernels.distances.between import batch_that_fits, distances_between
    from gravel.stages.measuring.rows import where_searched

    machine, placement = rows.machine, rows.placement
    if machine.backend != "cuda" or placement not in ("auto", "device") or len(starts) < 2 or not len(others):
        return False
    if where_searched(rows.stored, placement, machine.device_memory) not in ("decoded", "encoded"):
        return False  # a single search may read rows in host memory
    try:
        there = searched_rows(rows, "distances")
    except NotEnoughMemory:
        return False
    # Of encoded rows the bytes are counted in the place of arcs.
    size = len(there.rows.arrays[body_name(there.rows)])
    batch = batch_that_fits(
        len(rows), size, there.rows.dtype.itemsize, len(starts), len(others), there.memory
    )
    if batch < 2:
        return False
    if there.permutation is not None:
        starts, others = there.permutation[starts], there.permutation[others]
    distances_between(there.rows, starts, others, symmetric=not rows.directed, batch=batch, into=into)
    return True


def average_path_length(
    rows: PlacedRows, k: int | None, seed: int, confidence: float, progress: Progress | None
) -> Estimate:
    """Compute the mean distance; see `Graph.average_path_length`."""
    from gravel.kernels.distances.average import mean_distance
    from gravel.kernels.distances.many import aggregate_rows

    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; it must be between 0 and 1, such as 0.95")
    started = time.perf_counter()
    there = searched_rows(rows, "average_path_length")
    starts, candidates = drawn(offsets_of(there.rows), there.permutation, k, seed)
    options: dict[str, Any] = {"symmetric": not rows.directed, "memory": there.memory, "split": there.split}
    found = fitting(lambda: aggregate_rows(there.rows, starts, progress=progress, **options))
    value, low, high = mean_distance(found, candidates, confidence)
    return Estimate(value, low, high, confidence, len(starts), since(started))
